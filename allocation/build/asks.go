package build

import (
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/charge"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
)

// Ask is something that a Builder needs to know: the series of some signals.
type Ask struct {
	Signals []signals.Signal
	Spans   []Span // of their samples
	Last    bool   // only the last value of each span is needed
	// Pods and Containers are names, ascending. Only series of these are needed, and series of others do no harm. Nil asks for all.
	// Series that belong to no pod or container are always needed.
	Pods, Containers []string
	// InstanceTypes are names, ascending, as Pods are.
	InstanceTypes []string
}

// Step is a group of asks that can be answered together. The next step depends on the answers.
type Step struct {
	Number int    // its place in the order that the steps of all builders have
	Name   string // for people
	Asks   []Ask
}

// ErrNothing says that no series of the window says what ran.
var ErrNothing = errors.New("nothing is known of the window")

// step is something that a builder does. run looks at what was added, and returns what must be added next: no asks if it needs nothing.
type step struct {
	name string // of what it asks for
	run  func(b *Builder) []Ask
}

// steps are what a builder does, one after the other.
var steps = []step{
	{"inputs", (*Builder).askInputs},
	{"inputs beyond the window", (*Builder).askBeyond},
	{"prices beyond the window", (*Builder).askPricesBeyond},
	{"prices by other exporters", (*Builder).askExportedPrices},
	{"fallbacks of the running signal", (*Builder).askSilent},
	{"fallbacks of the running signal of pods", (*Builder).askPodsWithoutStatus},
	{"fallbacks of the running signal of init containers", (*Builder).askInitsWithoutStatus},
	{"phases of pods", (*Builder).askPhases},
	{"starts of init containers", (*Builder).askInitStarts},
	{"pods that no scrape saw running", (*Builder).askFinal},
	{"restarts of containers", (*Builder).askRestarts},
	{"owners of pods", (*Builder).askOwners},
	{"counters of nodes", (*Builder).askNodeTime},
	{"labels and annotations of pods before usage", (*Builder).askMetadataFirst},
	{"", (*Builder).resolve},
	{"levels of usage", (*Builder).askLevels},
	{"levels of usage before the window", (*Builder).askLevelsBefore},
	{"levels of usage after the window", (*Builder).askLevelsAfter},
	{"counters of usage before the window", (*Builder).askCountersBefore},
	{"counters of usage", (*Builder).askCounters},
	{"containers that were killed for memory", (*Builder).askKilled},
	{"counters of usage after the window", (*Builder).askCountersAfter},
	{"usage of pods whose containers show none", (*Builder).askPodUsage},
	{"", (*Builder).finalize},
	{"usage of overcommitted time", (*Builder).askOvercommitted},
	{"", (*Builder).finalizeAgain},
	{"labels and annotations of pods", (*Builder).askMetadataLast},
}

// progress is how far a Builder is.
type progress struct {
	step                    int                // the next one
	pricesBeyond            []Span             // that prices were read of besides those that are loaded
	added                   int64              // series that show that the window has data
	counts                  bool               // series that are added count in added
	excesses                []charge.Excess    // of which usage is added again
	usageBefore, usageAfter charge.UnseenUsage // the usage that is needed beyond the window
}

// Next returns what must be added next; nil if nothing is left, or if the builder had to stop: Sets returns why. Call it again once the
// series that answer all asks were added.
func (b *Builder) Next() *Step {
	for b.step < len(steps) && !b.observer.Stop() {
		number := b.step
		b.step++ // a step that has more to ask sets it back
		if asks := steps[number].run(b); len(asks) > 0 && b.observer.Stopped == nil {
			return &Step{number, steps[number].name, asks}
		}
	}
	return nil
}

// loaded is the time that is read of most signals.
func (b *Builder) loaded() Span {
	return Span{Start: b.observer.Sampling.LoadStart(), End: b.observer.Sampling.End}
}

// within returns an ask for signals in some spans; none if there are none.
func within(spans []Span, list []signals.Signal) []Ask {
	if len(spans) == 0 {
		return nil
	}
	return []Ask{{Signals: list, Spans: spans}}
}

// ofPods returns an ask for signals of pods; none if there are no names.
func (b *Builder) ofPods(names []string, list ...signals.Signal) []Ask {
	if len(names) == 0 {
		return nil
	}
	return []Ask{{Signals: list, Spans: []Span{b.loaded()}, Pods: names}}
}

// ofContainers returns an ask for signals of containers; none if there are no names.
func (b *Builder) ofContainers(names []string, list ...signals.Signal) []Ask {
	if len(names) == 0 {
		return nil
	}
	return []Ask{{Signals: list, Spans: []Span{b.loaded()}, Containers: names}}
}

// Signals that are asked for together.
var (
	metadataSignals   = []signals.Signal{signals.PodLabels, signals.PodAnnotations}
	autoscalerSignals = []signals.Signal{signals.AutoscalerTarget, signals.AutoscalerMetric}
	waitingSignals    = []signals.Signal{signals.PodScheduled, signals.PodPending}
	diskLevels        = []signals.Signal{signals.NodeDiskUsed, signals.ClaimUsed}
	counterSignals    = []signals.Signal{signals.ContainerUse, signals.PodTransmitted, signals.PodReceived, signals.PodEgress}
	podUsageSignals   = []signals.Signal{signals.PodUse, signals.PodLevel}
	pressureSignals   = []signals.Signal{signals.ContainerPeriods, signals.ContainerThrottled, signals.ContainerOOMKills, signals.ContainerWaiting}
	// onDemand are signals that are asked for only where what was added before shows a need for them.
	onDemand = slices.Concat(counterSignals, diskLevels, podUsageSignals, pressureSignals, []signals.Signal{
		signals.ContainerKilled,
		signals.Nothing, signals.RunningByUsage, signals.RunningByInfo, signals.PodPhaseRunning, signals.ContainerCreated, signals.InitStarted,
		signals.PodFinal, signals.ContainerRestarts, signals.PodOwner, signals.NodeTime, signals.ContainerLevel,
		signals.InstancePrice, signals.InstanceUnitPrice, signals.OfferingPrice, signals.WholeVolumePrice, signals.VolumeUnitPrice,
	})
	priceSignals = []signals.Signal{
		signals.NodePrice, signals.NodeSpot, signals.ZoneEgressPrice, signals.RegionEgressPrice, signals.InternetEgressPrice, signals.VolumePrice,
		signals.BalancerPrice, signals.ManagementPrice,
	}
)

// PriceSignals returns the signals that say what things cost, and which nodes are spot.
func PriceSignals() []signals.Signal { return slices.Clone(priceSignals) }

// inputs are the signals that are asked for first: what there was, when it ran and what it costs.
func (b *Builder) inputs() (list []signals.Signal) {
	later := onDemand
	if b.observer.Pods.Metadata.Last {
		later = slices.Concat(later, metadataSignals)
	}
	if b.resolver.ChargeFrom != allocation.FromScheduled {
		later = slices.Concat(later, waitingSignals)
	}
	if !b.levels {
		later = slices.Concat(later, autoscalerSignals)
	}
	for s := range signals.NumSignals {
		if !slices.Contains(later, s) {
			list = append(list, s)
		}
	}
	return list
}

func (b *Builder) askInputs() []Ask {
	b.observer.Pods.Metadata.Last, b.counts = b.resolver.MetadataLast(), true
	return within([]Span{b.loaded()}, b.inputs())
}

func (b *Builder) askBeyond() []Ask {
	b.counts = false
	return within(b.resolver.Beyond(), b.inputs())
}

func (b *Builder) askPricesBeyond() []Ask {
	b.pricesBeyond = b.resolver.Unpriced()
	return within(b.pricesBeyond, priceSignals)
}

// askExportedPrices asks for prices of nodes and volumes by other exporters, where those of their own are missing. Schedulers know prices of hundreds of types:
// they are asked for those that nodes have.
func (b *Builder) askExportedPrices() (asks []Ask) {
	spans := append([]Span{b.loaded()}, b.pricesBeyond...)
	nodes, volumes, instanceTypes := b.observer.Unpriced()
	if nodes {
		asks = within(spans, []signals.Signal{signals.InstancePrice, signals.InstanceUnitPrice})
	}
	if volumes {
		asks = append(asks, within(spans, []signals.Signal{signals.WholeVolumePrice, signals.VolumeUnitPrice})...)
	}
	if len(instanceTypes) > 0 {
		asks = append(asks, Ask{Signals: []signals.Signal{signals.OfferingPrice}, Spans: spans, InstanceTypes: instanceTypes})
	}
	return asks
}

// askSilent asks for the fallbacks of the running signal where that is missing.
func (b *Builder) askSilent() []Ask {
	b.counts = true
	silent := b.resolver.SilentSpans()
	list := []signals.Signal{signals.RunningByUsage, signals.ContainerCreated}
	if !b.resolver.WithoutInfos(silent) {
		list = append(list, signals.RunningByInfo, signals.PodPhaseRunning)
	}
	return within(silent, list)
}

// askPodsWithoutStatus asks for fallbacks for pods without a status. Any window has series by now: one without any ends here with
// ErrNothing.
func (b *Builder) askPodsWithoutStatus() []Ask {
	if b.added == 0 {
		b.observer.Stopped = ErrNothing
		return nil
	}
	return b.ofPods(b.resolver.PodsWithoutStatus(), signals.RunningByUsage, signals.RunningByInfo, signals.PodPhaseRunning, signals.ContainerCreated)
}

func (b *Builder) askInitsWithoutStatus() []Ask {
	return b.ofContainers(b.resolver.InitsWithoutStatus(), signals.RunningByUsage, signals.RunningByInfo, signals.ContainerCreated)
}

func (b *Builder) askPhases() []Ask {
	return b.ofPods(b.resolver.PodsOfInfos(), signals.PodPhaseRunning)
}

func (b *Builder) askInitStarts() []Ask {
	return b.ofContainers(b.resolver.InitContainers(), signals.InitStarted)
}

func (b *Builder) askFinal() []Ask { return b.ofPods(b.resolver.UnseenPods(), signals.PodFinal) }

func (b *Builder) askRestarts() []Ask {
	return b.ofPods(b.resolver.UnknownStarts(), signals.ContainerRestarts)
}

func (b *Builder) askOwners() []Ask { return b.ofPods(b.resolver.Ownerless(), signals.PodOwner) }

// askNodeTime asks for counters of nodes, which matter only at the borders of sets.
func (b *Builder) askNodeTime() []Ask {
	if b.fewOfAssets {
		return nil
	}
	last, whole := b.resolver.BorderSpans()
	asks := within(last, []signals.Signal{signals.NodeTime})
	for i := range asks {
		asks[i].Last = true
	}
	return append(asks, within(whole, []signals.Signal{signals.NodeTime})...)
}

// askMetadataFirst asks for labels and annotations if what was added shows that they are needed now.
func (b *Builder) askMetadataFirst() []Ask {
	if !b.observer.Pods.Metadata.Last || b.resolver.MetadataLast() {
		return nil
	}
	return within([]Span{b.loaded()}, metadataSignals)
}

func (b *Builder) resolve() []Ask {
	b.observer.Hold(b.observer.Memory())
	b.observer.Fail(b.charger.Begin())
	return nil
}

func (b *Builder) askLevels() []Ask {
	list := []signals.Signal{signals.ContainerLevel}
	if !b.fewOfAssets {
		list = append(list, diskLevels...)
	}
	return within([]Span{b.loaded()}, list)
}

func (b *Builder) askLevelsBefore() []Ask {
	b.usageBefore = b.charger.UnseenPodsBefore()
	return ask(&b.usageBefore, signals.ContainerLevel)
}

func (b *Builder) askLevelsAfter() []Ask {
	b.usageAfter = b.charger.UnseenPodsAfter()
	return ask(&b.usageAfter, signals.ContainerLevel)
}

func (b *Builder) askCountersBefore() []Ask { return ask(&b.usageBefore, counterSignals...) }

func (b *Builder) askCountersAfter() []Ask { return ask(&b.usageAfter, counterSignals...) }

func (b *Builder) askCounters() []Ask {
	list := counterSignals
	if b.levels {
		list = slices.Concat(list, pressureSignals)
	}
	return within([]Span{b.loaded()}, list)
}

// askKilled asks for few series: containers that were never killed have none.
func (b *Builder) askKilled() []Ask {
	if !b.levels {
		return nil
	}
	return within([]Span{b.loaded()}, []signals.Signal{signals.ContainerKilled})
}

// ask asks for usage of the pods; not at all if no more is needed.
func ask(x *charge.UnseenUsage, list ...signals.Signal) []Ask {
	if x.Start >= x.End {
		return nil
	}
	return []Ask{{Signals: list, Spans: []Span{x.Span}, Pods: x.Pods}}
}

func (b *Builder) askPodUsage() []Ask {
	return b.ofPods(b.charger.BarePods(), podUsageSignals...)
}

func (b *Builder) finalize() []Ask {
	var err error
	b.excesses, err = b.charger.Finalize()
	b.observer.Fail(err)
	return nil
}

// askOvercommitted asks a second time for usage that exceeded the capacity of its node, one stretch of time after the other.
func (b *Builder) askOvercommitted() []Ask {
	if len(b.excesses) == 0 {
		return nil
	}
	x, s := b.excesses[0], b.observer.Sampling
	b.excesses = b.excesses[1:]
	b.step-- // the next call of Next asks for those that are left
	var list []signals.Signal
	if x.Resources[allocation.RAM] {
		list = append(list, signals.ContainerLevel, signals.PodLevel)
	}
	if x.Resources[allocation.CPU] {
		list = append(list, signals.ContainerUse, signals.PodUse)
	}
	if len(list) == 0 {
		return nil
	}
	b.charger.Revisit(x.Span)
	end := x.End
	if s.Exact() {
		end = min(s.End, end+s.Lookback)
	}
	return []Ask{{Signals: list, Spans: []Span{{Start: x.Start - s.Start + s.LoadStart(), End: end}}, Pods: x.Pods}}
}

func (b *Builder) finalizeAgain() []Ask {
	if b.observer.Phase == observe.Correcting {
		_, err := b.charger.Finalize()
		b.observer.Fail(err)
	}
	return nil
}

// askMetadataLast asks for the labels and annotations of the pods whose rows are shown.
func (b *Builder) askMetadataLast() []Ask {
	names, err := b.resolver.Labeled()
	b.observer.Fail(err)
	return b.ofPods(names, metadataSignals...)
}
