package main

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// plainName is a name that means nothing to a shell. Kubernetes has no others.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// writeCommands writes a command for each controller, by which kubectl sets the recommended requests. Comments say what each changes, and what
// that saves or costs: head is what they are in.
func (a *savingsAnswer) writeCommands(io streams, head string) error {
	controllers, left, err := a.controllers(true)
	if err != nil {
		return err
	}
	var commands strings.Builder
	saving, more, raised, written := 0.0, 0.0, 0.0, 0
	for _, rows := range controllers {
		if slices.ContainsFunc(rows, func(r savingsRow) bool {
			return !plainName.MatchString(r.Namespace) || !plainName.MatchString(r.Controller) || !plainName.MatchString(r.Container)
		}) {
			left += len(rows)
			continue
		}
		patch, err := json.Marshal(k8sObject{"spec": requestPatch(rows)["spec"]})
		if err != nil {
			return fmt.Errorf("write commands: %w", err)
		}
		for i := range rows {
			r := &rows[i]
			fmt.Fprintf(&commands, "# %s/%s %s: %s: %s\n", r.Namespace, r.Controller, r.Container, strings.Join(r.changes(), ", "), r.savesText())
			saving, more, raised = saving+r.MonthlySaving, more+r.tooLow(), raised+r.raisedBy()
		}
		written++
		fmt.Fprintf(&commands, "kubectl -n %s patch %s %s -p '%s'\n", rows[0].Namespace, rows[0].ControllerKind, rows[0].Controller, patch)
	}
	if written > 0 {
		total := fmt.Sprintf("# %s\n# These commands save %s and, where requests grow, cost %s more: %s in all.\n", head, money(saving), money(more), savesText(saving-more))
		if raised >= leastShown {
			total += fmt.Sprintf("# They also lower requests that were raised within the window, for %s a month: what that saves is not in these sums, which are against the mean of the window.\n", money(raised))
		}
		if _, err := io.raw.Write([]byte(total + commands.String())); err != nil {
			return err
		}
	}
	return warnLeft(io, left)
}

// savesText says what the recommendation saves, or costs.
func (r *savingsRow) savesText() string {
	net := r.MonthlySaving - r.tooLow()
	if r.raisedBy() < leastShown {
		return savesText(net)
	}
	const lower = "lowers what was raised within the window"
	if math.Abs(net) < leastShown {
		return lower
	}
	return lower + ", and the rest " + savesText(net)
}

// savesText says what a change saves a month, or costs if it is below 0.
func savesText(net float64) string {
	switch {
	case net >= leastShown:
		return "saves " + money(net) + " a month"
	case net <= -leastShown:
		return "costs " + money(-net) + " a month more"
	}
	return "costs the same"
}

// changes says what the recommendation changes.
func (r *savingsRow) changes() (list []string) {
	limits := r.limited()
	add := func(what string, from, to string) { list = append(list, what+" "+from+" → "+to) }
	if r.CPU.Recommended != nil {
		add("CPU", coresText(&r.CPU.Request), coresText(r.CPU.Recommended))
	}
	if _, ok := limits["cpu"]; ok {
		add("its limit", coresText(&r.CPU.Limit), coresText(r.CPU.Recommended))
	}
	if r.Memory.Recommended != nil {
		add("memory", bytesText(&r.Memory.Request), bytesText(r.Memory.Recommended))
	}
	if _, ok := limits["memory"]; ok {
		add("its limit", bytesText(&r.Memory.Limit), bytesText(r.Memory.RecommendedLimit))
	}
	return list
}
