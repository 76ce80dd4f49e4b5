package savings

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/memory"
)

// Options says what Collect keeps of usage.
type Options struct {
	Window    allocation.Window // of all sets: days are counted back from its end
	HalfLives []time.Duration   // by which quantiles may be weighted, at most two
	ByPod     bool              // keep pods apart, for quantiles of each of them
	Filter    allocation.Filter // selects rows; nil selects all
	Owners    []allocation.Key  // say whose a container is: the first that a row has; none where nobody asks
	Memory    *memory.Account   // what is kept is drawn from; nil has no bound
}

// Usage is how containers used what they request, over a window.
type Usage struct {
	Containers []*Container // by name
	Covered    []allocation.Covered
	options    Options
}

// Container is how a container of a controller used what it requests, over all replicas. Arrays are of CPU in cores and of memory in bytes.
type Container struct {
	Cluster, Namespace, ControllerKind, Controller, Name string
	Owner                                                string     // "" where unknown
	Init                                                 bool       // it is an init container, or a native sidecar, which is one that restarts
	Request, Limit                                       [2]float64 // of the newest replica; 0 for none
	RunningHours                                         float64    // Σ over replicas
	KnownHours                                           [2]float64 // of them, those whose usage is known
	UsageMean, UsageMax                                  [2]float64 // over known hours; NaN where none are

	// Signals are what else may decide a recommendation.
	Signals Signals

	cost   [2]float64 // ∫ max(request, usage) × price dt over known time, in currency
	whole  [2]spread  // of the window
	days   []dayUse   // by age
	sums   rowSums
	newest time.Time // when the replica started in its set whose request it has
}

// sizedResources are the resources that requests are recommended for, the indexes of arrays.
var sizedResources = [...]allocation.Resource{allocation.CPU, allocation.RAM}

// Signals are what else is known of a container. Unknown is NaN, and false for what scales it.
type Signals struct {
	Throttled float64 // part of the scheduler's periods in which it was throttled, 0 to 1
	Waiting   float64 // part of the time in which it waited for CPU, 0 to 1
	OOMKilled float64 // bytes that it used, or was limited to, when it was killed for lack of memory
	Scaled    [2]bool // a HorizontalPodAutoscaler follows its CPU, its memory
}

// dayUse is the usage of a day.
type dayUse struct {
	age  int        // days before the window's end, 0 for the last one
	most [2]float64 // highest usage
	cpu  []podUse   // of each pod, or of all at once
}

type podUse struct {
	pod   string // "" for all
	most  float64
	usage spread
}

// rowSums are sums of stored columns.
type rowSums struct {
	cost, hours                 [2]float64
	unpriced                    [2]float64 // seconds in which nothing was requested or used, and so nothing paid
	periods, throttled, waiting float64
}

// Needs returns what Collect reads of rows.
func Needs(o Options) *allocation.Projection {
	columns := []allocation.Column{allocation.RunningSeconds, allocation.CPUPeriods, allocation.ThrottledPeriods, allocation.OOMKills, allocation.CPUWaitingSeconds, allocation.CPUScaledSeconds, allocation.RAMScaledSeconds, allocation.InitSeconds}
	for _, r := range sizedResources {
		columns = append(columns, allocation.Cost.Of(r), allocation.Hours.Of(r), allocation.RequestHours.Of(r), allocation.UsageHours.Of(r), allocation.LimitHours.Of(r), allocation.UsageMax.Of(r))
	}
	p := allocation.OfRows([]allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.Pod, allocation.PodUID, allocation.Container}, columns...)
	p.Levels = true
	all := []*allocation.Projection{p}
	for _, k := range o.Owners {
		all = append(all, k.Needs())
	}
	if o.Filter != nil {
		all = append(all, o.Filter.Needs())
	}
	return allocation.Union(all...)
}

// Collect sums how containers used what they request, over sets of hours with levels, oldest first. What it keeps does not grow with the hours of a day. It fails
// with the first error of sets, and where memory lacks.
func Collect(sets iter.Seq2[*allocation.Set, error], o Options) (*Usage, error) {
	if len(o.HalfLives) > maxHalfLives {
		return nil, fmt.Errorf("collect usage: %d half-lives, at most %d can be kept: ask for fewer presets at once", len(o.HalfLives), maxHalfLives)
	}
	c := collector{Usage: Usage{options: o}, byName: map[containerName]*Container{}}
	for s, err := range sets {
		if err != nil {
			return nil, err
		}
		if err := c.add(s); err != nil {
			return nil, fmt.Errorf("collect usage of %s: %w", s.Window.Text(), err)
		}
	}
	for _, x := range c.byName {
		x.end()
		c.Containers = append(c.Containers, x)
	}
	slices.SortFunc(c.Containers, (*Container).compare)
	return &c.Usage, nil
}

// compare orders containers by their names.
func (x *Container) compare(y *Container) int {
	return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.ControllerKind, y.ControllerKind),
		cmp.Compare(x.Controller, y.Controller), cmp.Compare(x.Name, y.Name))
}

type containerName struct{ cluster, namespace, kind, controller, name string }

// collector is the state of Collect.
type collector struct {
	Usage
	byName map[containerName]*Container
	known  map[[6]allocation.ID]*Container
	dict   *allocation.Dict
	drawn  int64 // bytes to draw

	// of the set that is added
	age     int
	weights [maxHalfLives]float64
	placed  spread // scratch
}

// What a container, and what a level of usage take in memory, about.
const (
	containerBytes = 1 << 10
	levelBytes     = 48
)

// containerIDs are the properties that tell containers from each other; the pod only those without a controller.
var containerIDs = [...]allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.Container, allocation.Pod}

// add adds a set.
func (c *collector) add(s *allocation.Set) error {
	if err := s.Require(Needs(c.options)); err != nil {
		return err
	}
	c.Covered = coverage.Join(c.Covered, s.Covered)
	selects := func(int) bool { return true }
	if c.options.Filter != nil {
		var err error
		if selects, err = c.options.Filter.Bind(s); err != nil {
			return err
		}
	}
	owners, err := allocation.BindKeys(s, c.options.Owners, true)
	if err != nil {
		return err
	}
	if c.dict != s.Dict() {
		c.dict, c.known = s.Dict(), map[[6]allocation.ID]*Container{}
	}
	c.date(s)
	ids, err := columnsOf(s)
	if err != nil {
		return err
	}
	for row := range s.Len() {
		if s.Special(row) == allocation.Workload && selects(row) && s.Text(allocation.Container, row) != "" {
			x := c.container(s, &ids, row)
			c.addRow(x, s, row, owners)
		}
	}
	err = c.options.Memory.Draw(c.drawn)
	c.drawn = 0
	return err
}

// columnsOf are the ids of the properties of containerIDs.
func columnsOf(s *allocation.Set) (ids [len(containerIDs)][]allocation.ID, err error) {
	for i, p := range containerIDs {
		if ids[i], err = s.IDs(p); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// container is the container of a row. One without a controller is that of its pod.
func (c *collector) container(s *allocation.Set, ids *[len(containerIDs)][]allocation.ID, row int) *Container {
	var key [len(containerIDs)]allocation.ID
	for i := range key {
		key[i] = ids[i][row]
	}
	if key[3] != 0 {
		key[5] = 0
	}
	if x := c.known[key]; x != nil {
		return x
	}
	text := func(p allocation.Property) string { return strings.Clone(s.Text(p, row)) } // which does not keep the dictionary
	name := containerName{text(allocation.Cluster), text(allocation.Namespace), text(allocation.ControllerKind), text(allocation.Controller), text(allocation.Container)}
	if name.controller == "" {
		name.kind, name.controller = "pod", text(allocation.Pod)
	}
	x := c.byName[name]
	if x == nil {
		x = &Container{Cluster: name.cluster, Namespace: name.namespace, ControllerKind: name.kind, Controller: name.controller, Name: name.name}
		x.Signals = Signals{Throttled: math.NaN(), Waiting: math.NaN(), OOMKilled: math.NaN()}
		c.byName[name] = x
		c.drawn += containerBytes
	}
	c.known[key] = x
	return x
}

// addRow adds a row to its container.
func (c *collector) addRow(x *Container, s *allocation.Set, row int, owners allocation.BoundKeys) {
	hours := s.Value(allocation.RunningSeconds, row) / 3600
	if !(hours > 0) {
		return
	}
	x.RunningHours += hours
	if start := s.Start(row); !start.Before(x.newest) {
		x.newest, x.Init = start, s.Value(allocation.InitSeconds, row) > 0
		for _, r := range sizedResources {
			x.Request[r], x.Limit[r] = tidy(s.Value(allocation.RequestHours.Of(r), row)/hours), tidy(s.Value(allocation.LimitHours.Of(r), row)/hours)
		}
		if owner := ownerOf(owners, len(c.options.Owners), row); owner != "" {
			x.Owner = owner
		}
	}
	x.addSignals(s, row, hours)
	pod := ""
	if c.options.ByPod {
		pod = strings.Clone(s.Text(allocation.PodUID, row))
	}
	day := x.day(c.age)
	of := day.pod(pod)
	of.most = max(of.most, s.Value(allocation.UsageMax.Of(allocation.CPU), row))
	for _, r := range sizedResources {
		cost, allocated, price := s.Value(allocation.Cost.Of(r), row), s.Value(allocation.Hours.Of(r), row), 0.0
		if allocated > 0 {
			price = cost / allocated
		}
		x.sums.cost[r], x.sums.hours[r] = x.sums.cost[r]+cost, x.sums.hours[r]+allocated
		most, request := s.Value(allocation.UsageMax.Of(r), row), s.Value(allocation.RequestHours.Of(r), row)/hours
		c.placed = place(c.placed[:0], s.Levels(r, row), s.Value(allocation.UsageHours.Of(r), row)*3600, most, price, &c.weights)
		if len(c.placed) == 0 {
			continue
		}
		if allocated == 0 {
			x.sums.unpriced[r] += c.placed.seconds()
		}
		day.most[r] = max(day.most[r], most)
		x.cost[r] += c.placed.cost(request)
		into := &x.whole[r]
		if r == allocation.CPU {
			into = &of.usage
		}
		c.drawn += int64(into.add(c.placed)) * levelBytes
	}
}

// addSignals adds what else a row says. Whether an autoscaler follows usage is that of the newest row.
func (x *Container) addSignals(s *allocation.Set, row int, hours float64) {
	x.sums.periods += s.Value(allocation.CPUPeriods, row)
	x.sums.throttled += s.Value(allocation.ThrottledPeriods, row)
	x.sums.waiting += s.Value(allocation.CPUWaitingSeconds, row)
	x.Signals.Scaled = [2]bool{s.Value(allocation.CPUScaledSeconds, row) > 0, s.Value(allocation.RAMScaledSeconds, row) > 0}
	if s.Value(allocation.OOMKills, row) > 0 {
		at := cmp.Or(tidy(s.Value(allocation.LimitHours.Of(allocation.RAM), row)/hours), s.Value(allocation.UsageMax.Of(allocation.RAM), row))
		if math.IsNaN(x.Signals.OOMKilled) || at > x.Signals.OOMKilled {
			x.Signals.OOMKilled = at
		}
	}
}

// ownerOf is the first value of keys that a row has.
func ownerOf(keys allocation.BoundKeys, n, row int) string {
	if n == 0 {
		return ""
	}
	text := keys.AppendName(nil, row, 0, false)
	from := 0
	for from < len(text) && text[from] == 0 {
		from++
	}
	to := from
	for to < len(text) && text[to] != 0 {
		to++
	}
	return string(text[from:to])
}

// date notes how old a set is: in days before the window's end, and how its time is weighted within its day, by 0.5^(age ÷ half-life).
func (c *collector) date(s *allocation.Set) {
	old := max(0, c.options.Window.End.Sub(s.Window.End))
	c.age = int(old / day)
	for i, h := range c.options.HalfLives {
		c.weights[i] = math.Exp2(-(old % day).Hours() / h.Hours())
	}
}

// day is the container's usage of a day, which is the last one or a later one.
func (x *Container) day(age int) *dayUse {
	n := len(x.days)
	if n == 0 || x.days[n-1].age != age {
		if n > 0 {
			x.days[n-1].clip()
		}
		x.days = append(x.days, dayUse{age: age})
	}
	return &x.days[len(x.days)-1]
}

// clip gives back the memory that a day that has ended does not need.
func (d *dayUse) clip() {
	for i := range d.cpu {
		d.cpu[i].usage = slices.Clone(d.cpu[i].usage)
	}
}

// pod is the usage of a pod.
func (d *dayUse) pod(name string) *podUse {
	for i := range d.cpu {
		if d.cpu[i].pod == name {
			return &d.cpu[i]
		}
	}
	d.cpu = append(d.cpu, podUse{pod: name})
	return &d.cpu[len(d.cpu)-1]
}

// end derives means and prices once all sets were added.
func (x *Container) end() {
	for i := range x.days {
		for k := range x.days[i].cpu {
			x.whole[allocation.CPU].add(x.days[i].cpu[k].usage)
		}
	}
	for _, r := range sizedResources {
		seconds := x.whole[r].seconds()
		x.KnownHours[r], x.UsageMean[r], x.UsageMax[r] = seconds/3600, math.NaN(), math.NaN()
		if seconds > 0 {
			x.UsageMean[r], x.UsageMax[r] = x.whole[r].amount()/seconds, 0
		}
		for i := range x.days {
			x.UsageMax[r] = max(x.UsageMax[r], x.days[i].most[r])
		}
		if x.sums.unpriced[r] > 0 && x.sums.hours[r] > 0 { // all of it lies in the lowest bucket: a request would cost what it does at other times
			x.whole[r][0].paid += x.sums.unpriced[r] * x.sums.cost[r] / x.sums.hours[r]
		}
	}
	slices.Reverse(x.days)
	if x.sums.periods > 0 {
		x.Signals.Throttled = x.sums.throttled / x.sums.periods
	}
	if x.sums.waiting > 0 { // it is 0 where nobody tells, too
		x.Signals.Waiting = x.sums.waiting / (x.RunningHours * 3600)
	}
}

// tidy rounds a mean of equal numbers to what it is a mean of.
func tidy(v float64) float64 {
	const digits = 13
	return roundTo(v, digits)
}

// roundTo rounds a number to so many digits.
func roundTo(v, digits float64) float64 {
	if v == 0 {
		return 0
	}
	decimals := digits - math.Ceil(math.Log10(math.Abs(v)))
	if decimals < 0 {
		unit := math.Pow(10, -decimals) // whole: its inverse would not be exact
		return math.Round(v/unit) * unit
	}
	scale := math.Pow(10, decimals)
	return math.Round(v*scale) / scale
}

// Efficiency returns the parts of today's requests that are used: of each resource, and of both by what they cost. What is used without a request counts as
// 1, what is not known as 0, as in Kubecost's answers (SEMANTICS §4).
func (x *Container) Efficiency() (each [2]float64, total float64) {
	cost := 0.0
	for _, r := range sizedResources {
		switch used := x.UsageMean[r]; {
		case x.Request[r] > 0 && used > 0:
			each[r] = used / x.Request[r]
		case used > 0 && x.sums.cost[r] > 0:
			each[r] = 1
		}
		total, cost = total+each[r]*x.sums.cost[r], cost+x.sums.cost[r]
	}
	if cost > 0 {
		total /= cost
	}
	return each, total
}

// HoursCovered returns for how many hours of the window, up to now, any cluster has data.
func (u *Usage) HoursCovered(now time.Time) float64 {
	c := coverage.Measure(u.options.Window, u.Covered, now)
	return c.Hours
}
