package savings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Statistic is what of a container's usage a request is made from.
type Statistic uint8

// The statistics.
const (
	Maximum  Statistic = iota // the highest usage
	Quantile                  // the usage that a part of the time does not exceed
	Peaks                     // a quantile of the highest usage of each day
)

// Rule makes a request for a resource from usage (SEMANTICS §10).
type Rule struct {
	Of       Statistic
	Quantile float64       // above 0, up to 1
	HalfLife time.Duration // the older usage is, the less it weighs; 0 weighs all the same
	Weekday  bool          // at least the quantile of the same weekday a week before
	ByPod    bool          // of the pod that has most, else of all pods together
	Factor   float64       // by which the usage is multiplied
	Least    float64       // the smallest request, in cores or bytes
	// Kill is the factor on the usage at which the container was killed for lack of memory, below which nothing is recommended; 0 ignores kills.
	Kill float64
}

// Preset is a named pair of rules.
type Preset struct {
	Name  string
	Help  string // what it does, in words
	Rules [2]Rule
	// Ours presets leave alone what a HorizontalPodAutoscaler scales, and never shrink what is throttled. Those of peers apply their formulas and nothing else.
	Ours bool
	// Smaller leaves out what would raise a request above today's.
	Smaller bool
}

const (
	day = 24 * time.Hour
	mib = 1 << 20
)

// DefaultPreset and KubecostPreset are the presets of promcost's own answers, and of Kubecost's.
const (
	DefaultPreset  = "balanced"
	KubecostPreset = "kubecost"
)

// Presets returns all presets: ours, then those of peers.
func Presets() []Preset {
	ours := func(name, help string, q float64, halfLife time.Duration, factor float64) Preset {
		return Preset{name, help, [2]Rule{
			allocation.CPU: {Of: Quantile, Quantile: q, HalfLife: halfLife, Weekday: true, Factor: factor, Least: 0.010},
			allocation.RAM: {Of: Maximum, Factor: 1.15, Least: 32 * mib, Kill: 1.2},
		}, true, false}
	}
	return []Preset{
		ours("tight", "saves most: for what may be slow for a while", 0.90, day, 1.10),
		ours(DefaultPreset, "the default", 0.95, day, 1.05),
		ours("safe", "exceeded least: for what must not be slow", 0.98, day/2, 1.05),
		{"krr", "what Robusta KRR does", [2]Rule{
			allocation.CPU: {Of: Quantile, Quantile: 0.95, ByPod: true, Factor: 1, Least: 0.010},
			allocation.RAM: {Of: Maximum, Factor: 1.15, Least: 100 * mib},
		}, false, false},
		{"vpa", "what the VerticalPodAutoscaler does", [2]Rule{
			allocation.CPU: {Of: Quantile, Quantile: 0.90, HalfLife: day, Factor: 1.15, Least: 0.025},
			allocation.RAM: {Of: Peaks, Quantile: 0.90, HalfLife: day, Factor: 1.15, Least: 250 * mib},
		}, false, false},
		{KubecostPreset, "what Kubecost does", [2]Rule{
			allocation.CPU: {Of: Maximum, Factor: 1 / 0.7, Least: 0.010},
			allocation.RAM: {Of: Maximum, Factor: 1 / 0.7, Least: 20 * mib},
		}, false, false},
	}
}

// PresetNamed returns a preset by its name.
func PresetNamed(name string) (Preset, error) {
	all := Presets()
	if i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Preset{}, fmt.Errorf("unknown preset %.50q: use %s", name, strings.Join(PresetNames(), ", "))
}

// PresetNames returns the names of all presets.
func PresetNames() (names []string) {
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

// For returns the options of Collect that presets need, besides the window, the rows and the memory.
func (o Options) For(presets ...Preset) Options {
	for _, p := range presets {
		r := &p.Rules[allocation.CPU]
		o.ByPod = o.ByPod || r.ByPod
		if r.HalfLife > 0 && !slices.Contains(o.HalfLives, r.HalfLife) {
			o.HalfLives = append(slices.Clip(o.HalfLives), r.HalfLife)
		}
	}
	return o
}
