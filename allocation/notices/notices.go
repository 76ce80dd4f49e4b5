package notices

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
)

// Notice is a kind of warning that counts things, as a template: {n} is how many things there are, {names} some of them, {a|b}
// is a for one thing and b for several, and {} is what else there is to say. Warnings of one kind can be joined.
type Notice string

// Kinds of warnings of sources.
const (
	// LackingInput warns that an input has no sample, though another one shows that it should have. Concerned is what it says of that.
	LackingInput    Notice = "cluster {}: no sample of {} {}. By {}, it concerns {n} of the {} ({names}). {}"
	Concerned       Notice = "by {}, it concerns {n} of the {} ({names})"
	UnknownPods     Notice = "kube-state-metrics: {n} {pod|pods} with usage {is|are} not in kube_pod_info ({names}): nothing says on which node {it ran|they ran}, what {it requests|they request} and whose {it is|they are}. Do its --namespaces, or what relabels its metrics, leave {it|them} out, or is one of its shards not scraped?"
	OwnPrices       Notice = "{n} series of prices {was|were} left out, for a promcost exposes {it|them}: what it computes is no input"
	HistogramChunks Notice = "metric {}: {n} {chunk|chunks} of native histograms skipped: cost is computed from float samples; record it as such"
	MalformedChunks Notice = "metric {}: {n} malformed {chunk|chunks} skipped (first: {}): samples of {its|their} hours are missing; check the storage {it comes|they come} from"
)

// Kinds of warnings of a Builder.
const (
	UnpricedNodes     Notice = "{n} {node lacks|nodes lack} a price: some of {its|their} resources have neither a node_*_hourly_cost series nor a rule of the price sheet; default prices were used" + givePrices
	UnpricedVolumes   Notice = "{n} {volume lacks|volumes lack} a price: {it has|they have} neither pv_hourly_cost nor a rule of the price sheet; the default price was used" + givePrices
	UnpricedBalancers Notice = "{n} {load balancer lacks|load balancers lack} a price: {it has|they have} neither kubecost_load_balancer_cost nor a rule of the price sheet; the default price was used" + givePrices
	UnpricedPlanes    Notice = "management of {n} {cluster|clusters} lacks a price: it has neither kubecost_cluster_management_cost nor a rule of the price sheet; the default price was used" + givePrices
	UnpricedTraffic   Notice = "network traffic of {n} {cluster|clusters} lacks a price: some of it has neither a kubecost_network_*_egress_cost nor a rule of the price sheet; default prices were used" + givePrices
	UnpricedDisks     Notice = "disks of {n} {node|nodes} have the default price" + givePrices
	givePrices               = " ({names}){}. Give prices with --pricing.file"

	UnplacedPods     Notice = "{n} {pod|pods} " + noKnownNode + " ({names}): priced by {}; are kube_node_info and kube_node_status_capacity there for all nodes, and has kube_pod_info the {pod's node|pods' nodes}?"
	NodelessPods     Notice = "{n} {pod|pods} ({names}) ran for more than 5 minutes while {its node was|their nodes were} no node of the cluster: that time costs nothing. Is kube_node_info of kube-state-metrics there for all nodes?"
	LargeNodes       Notice = "{n} {node has|nodes have} more than 2,000 cores or 64 TiB of memory ({names}), more than any machine: {it costs|they cost} what {its|their} pods do. Give rules of the price sheet billedBy: pods, or let kube-state-metrics export the label type, to confirm that"
	GhostNodes       Notice = "{n} {Node object has|Node objects have} the provider id of another ({names}): {it was|they were} not charged while the other was, for both are one machine"
	UnseenInits      Notice = "{n} init {container|containers} finished between two scrapes ({names}): {its run time is|their run times are} unknown and {its cost counts|their costs count} as 0. kube-state-metrics 2.20 reports when {it|they} started, and a shorter scrape interval would catch {it|them}"
	KnownByUsage     Notice = "{n} {container appears|containers appear} only in cAdvisor, not in kube-state-metrics ({names}): {its run time was|their run times were} taken from {its|their} usage samples"
	UnmatchedUsage   Notice = "{n} usage series {belongs|belong} to containers that were not seen running: is kube_pod_container_status_running of kube-state-metrics there for them?"
	LeapingUsage     Notice = "{n} {increase|increases} of containers' CPU counters ({names}) {is|are} left out, being more than {} times what the node can give: look at what exports or relabels container_cpu_usage_seconds_total"
	LackingRequests  Notice = "{n} {container|containers} ({names}) that ran {} {has|have} limits and no requests, where Kubernetes makes the one the other: {it costs what it uses|they cost what they use}. Is kube_pod_container_resource_requests there for all pods?"
	OtherDevices     Notice = "{n} {container requests|containers request} devices that cost nothing ({names}): list their resources under gpuResources in the config file, and prices of GPUs apply"
	BadRequests      Notice = "requests of {n} {container|containers} ({names}) are left out where they are NaN, infinite or below 0: look at what exports or relabels kube_pod_container_resource_requests"
	InStepCronJobs   Notice = "CronJobs start their pods in step with the grid of {}: {n} of them ({names}). What is counted too much or too little of one pod is so of all, and short ones may never be seen: ask for resolution=exact"
	UnseenNodes      Notice = "{n} {node|nodes} ({names}) {was|were}" + takenToRun
	UnseenContainers Notice = "{n} {container|containers} ({names}) {was|were}" + takenToRun
	UnseenUsage      Notice = "usage of {n} {container|containers} ({names}) is missing for more than 5 minutes {}: CPU was interpolated from {its counter|their counters}, memory was held at {its last value|their last values}"
	takenToRun              = " not seen for more than 5 minutes {}: what was not seen is taken to have run on, for its start is the same before and after, or nothing else of its kind was seen either"

	LostClaims     Notice = "{n} {claim is|claims are} mounted, but {its volume is|their volumes are} not known ({names}): {it costs|they cost} nothing; is kube_persistentvolumeclaim_info of kube-state-metrics there, and {is it|are they} bound?"
	UnboundClaims  Notice = "{n} {claim costs|claims cost} nothing: nothing is known of the {volume that it is|volumes that they are} bound to ({names}); are kube_persistentvolume_capacity_bytes and kube_persistentvolume_info of kube-state-metrics there?"
	TinyVolumes    Notice = "{n} {volume is|volumes are} said to have less than 1 MiB ({names}): the size of {its file system|their file systems} by kubelets was used. Give the capacity of {the PersistentVolume|the PersistentVolumes} a unit, such as 50Gi"
	ExcessiveDisks Notice = "sizes above 1 PiB of the own disks of {n} {node|nodes} ({names}) are left out: look at what exports kube_node_status_capacity and container_fs_limit_bytes of {it|them}"
	EmptyVolumes   Notice = "{n} {volume costs nothing, for its|volumes cost nothing, for their} capacity is not known ({names}): is kube_persistentvolume_capacity_bytes of kube-state-metrics there?"
)

// Text is the warning of n things, of which names are some, with what else there is to say, in the order of its places.
func (k Notice) Text(n int, names []string, more ...string) string {
	x := notice{kind: k, n: n, names: names, more: more}
	return x.String()
}

// Notice is what a warning says.
type notice struct {
	kind  Notice
	n     int
	least bool // there may be more than n
	names []string
	more  []string
}

// blank is a place of a template.
var blank = regexp.MustCompile(`\{[^{}]*\}`)

// String is the warning.
func (x *notice) String() string {
	more := x.more
	return blank.ReplaceAllStringFunc(string(x.kind), func(at string) string {
		switch at {
		case "{n}":
			if x.least {
				return atLeast + strconv.Itoa(x.n)
			}
			return strconv.Itoa(x.n)
		case "{names}":
			return strings.TrimSuffix(some(x.names), andMore) + x.ellipsis()
		case "{}":
			said := more[0]
			more = more[1:]
			return said
		}
		one, many, _ := strings.Cut(at[1:len(at)-1], "|")
		if x.n == 1 && !x.least {
			return one
		}
		return many
	})
}

// atLeast stands before the number of things of which not all are known.
const atLeast = "at least "

// Whole reports whether all things are named.
func (x *notice) whole() bool { return !x.least && len(x.names) == x.n }

// ellipsis ends a list that lacks some of the names.
func (x *notice) ellipsis() string {
	if x.n > mostNames || !x.whole() {
		return andMore
	}
	return ""
}

// join adds the things of another warning of the same kind, in which some of them may be, too.
func (x *notice) join(o *notice) {
	whole := x.whole() && o.whole()
	x.names = append(x.names, o.names...)
	slices.Sort(x.names)
	x.names = slices.Compact(x.names)
	x.n = max(x.n, o.n, len(x.names))
	x.least = !whole
}

// pattern reads the warnings of a kind.
type pattern struct {
	kind    Notice
	literal string                // which all of them have
	text    func() *regexp.Regexp // compiled when it is needed: most answers have warnings of few kinds
	places  []string              // of its groups
}

// All are all kinds of warnings that count things.
func All() []Notice {
	kinds := []Notice{
		LackingInput, OwnPrices, HistogramChunks, MalformedChunks,
		UnpricedNodes, UnpricedVolumes, UnpricedBalancers, UnpricedPlanes, UnpricedTraffic, UnpricedDisks,
		UnplacedPods, NodelessPods, GhostNodes, LargeNodes, UnseenInits, KnownByUsage, UnmatchedUsage, LeapingUsage, LackingRequests, BadRequests, OtherDevices, InStepCronJobs, UnseenNodes, UnseenContainers, UnseenUsage,
		LostClaims, UnboundClaims, EmptyVolumes, TinyVolumes, ExcessiveDisks,
	}
	for _, things := range [...]string{NodesPriced, VolumesPriced, BalancersPriced, ManagementPriced, TrafficPriced} {
		for k := range NumSuspicions {
			kinds = append(kinds, k.Notice(things))
		}
	}
	return kinds
}

// patterns are the patterns of all kinds.
var patterns = sync.OnceValue(func() []pattern {
	kinds := All()
	list := make([]pattern, len(kinds))
	for i, kind := range kinds {
		list[i] = kind.pattern()
	}
	return list
})

// pattern returns a regular expression that reads warnings of the kind.
func (k Notice) pattern() pattern {
	p := pattern{kind: k}
	for _, part := range blank.Split(string(k), -1) {
		if len(part) > len(p.literal) {
			p.literal = part
		}
	}
	var text strings.Builder
	rest := string(k)
	for _, at := range blank.FindAllString(rest, -1) {
		literal, after, _ := strings.Cut(rest, at)
		rest = after
		text.WriteString(regexp.QuoteMeta(literal))
		switch one, many, choice := strings.Cut(at[1:len(at)-1], "|"); {
		case choice:
			text.WriteString("(?:" + regexp.QuoteMeta(one) + "|" + regexp.QuoteMeta(many) + ")")
			continue
		case at == "{n}":
			text.WriteString("((?:" + atLeast + `)?\d+)`)
		default:
			text.WriteString("(.*?)")
		}
		p.places = append(p.places, at)
	}
	p.text = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + text.String() + regexp.QuoteMeta(rest) + "$") })
	return p
}

// parseNotice is what a warning says that Text made; ok is false for others.
func parseNotice(text string) (x *notice, ok bool) {
	for _, p := range patterns() {
		if !strings.Contains(text, p.literal) {
			continue
		}
		groups := p.text().FindStringSubmatch(text)
		if groups == nil {
			continue
		}
		x := &notice{kind: p.kind}
		for i, at := range p.places {
			group := groups[i+1]
			switch at {
			case "{n}":
				group, x.least = strings.CutPrefix(group, atLeast)
				n, err := strconv.Atoi(group)
				if err != nil {
					return nil, false
				}
				x.n = n
			case "{names}":
				list := strings.TrimSuffix(group, andMore)
				x.names = strings.Split(list, ", ")
			default:
				x.more = append(x.more, group)
			}
		}
		return x, true
	}
	return nil, false
}

// mostNames is how many names of a list a warning names.
const mostNames = 3

// some lists the first names of a long list.
func some(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNames], ", ") + andMore
}

// andMore is the end of a list that has more.
const andMore = ", …"

// Clock writes an interval for people, in UTC.
func Clock(x timeline.Interval) string {
	return fmt.Sprintf("from %s to %s", Instant(x.From), Instant(x.To))
}

// Clocks writes when something was, for people, in UTC.
func Clocks(when timeline.Intervals) string {
	var list []string
	for _, x := range timeline.Union(when) {
		list = append(list, Clock(x))
	}
	return some(list)
}

// Instant writes a time for people, in UTC.
func Instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }
