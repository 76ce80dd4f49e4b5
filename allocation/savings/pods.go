package savings

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// idlePart is the part of a request below which its usage is nearly nothing.
const idlePart = 0.01

// Pod is a pod that does nearly nothing.
type Pod struct {
	Cluster, Namespace, Name, Node string
	ControllerKind, Controller     string // empty for a pod of its own
	Cost                           Monthly
	// Allocated, Requested and Used are means while it ran, in cores, bytes and devices. Used is NaN where none of it is known.
	Allocated, Requested, Used [allocation.NumResources]float64
	// Sent and Received are bytes a second. Both are NaN where the traffic is not known.
	Sent, Received float64
}

// podColumns are what is summed of the containers of a pod.
var podColumns = func() []allocation.Column {
	columns := []allocation.Column{allocation.RunningSeconds, allocation.NetworkTransferBytes, allocation.NetworkReceiveBytes}
	for r := range allocation.NumResources {
		columns = append(columns, allocation.Hours.Of(r), allocation.RequestHours.Of(r), allocation.UsageHours.Of(r), allocation.UnknownSeconds.Of(r), allocation.UnknownRequestHours.Of(r))
	}
	return columns
}()

// PodNeeds returns what AbandonedWorkloads and IdleGPUs look at.
func PodNeeds() *allocation.Projection {
	properties := append(allocation.InstanceProperties[:len(allocation.InstanceProperties):len(allocation.InstanceProperties)],
		allocation.NodeName, allocation.ControllerKind, allocation.Controller)
	return allocation.OfRows(properties, append(allocation.MoneyColumns(), podColumns...)...)
}

// AbandonedWorkloads returns the pods that for q.Days, in each of the sets, which come oldest first, used less than 1 % of the CPU that they
// request, and sent and received fewer bytes a second than q.Threshold; the dearest first. Usage that is not known counts as the whole
// request. Traffic of no byte at all is not known, because pods in the network of their node have none of their own. doubtful are those
// that would be among them if what is not known were nothing.
func AbandonedWorkloads(sets iter.Seq2[*allocation.Set, error], q Question) (found, doubtful []Pod, err error) {
	return findPods(sets, q, allocation.MoneyColumns(), func(x *podSums) verdict {
		return max(x.usage(allocation.CPU), x.traffic(q.Threshold))
	})
}

// IdleGPUs returns the pods that hold GPUs and used less than 1 % of them for q.Days, in each of the sets, the dearest first, with what
// the GPUs cost. doubtful are those whose usage is not known.
func IdleGPUs(sets iter.Seq2[*allocation.Set, error], q Question) (found, doubtful []Pod, err error) {
	money := []allocation.Column{allocation.Cost.Of(allocation.GPU), allocation.Adjustment.Of(allocation.GPU)}
	return findPods(sets, q, money, func(x *podSums) verdict { return x.usage(allocation.GPU) })
}

// podKey identifies a pod.
type podKey struct{ cluster, namespace, name, uid string }

// podSums are the sums over the containers of a pod, over one set or several.
type podSums struct {
	columns          [allocation.NumColumns]float64
	list, adjustment float64
	seconds          float64 // in which the pod ran
}

// podHistory is what is known of a pod.
type podHistory struct {
	pod      Pod
	stretch  stretch
	all, set podSums
	from, to time.Time // in the set
	inSet    bool      // the set has rows of it
}

// findPods returns the pods that judge calls unused in each set of q.Days, and those that it would if it knew more.
func findPods(sets iter.Seq2[*allocation.Set, error], q Question, money []allocation.Column, judge func(*podSums) verdict) (found, doubtful []Pod, err error) {
	w, pods := newWalk(q), map[podKey]*podHistory{}
	err = w.each(sets, PodNeeds(), func(s *allocation.Set, selects func(int) bool) {
		for row := range s.Len() {
			if s.Special(row) == allocation.Workload && selects(row) {
				key := podKey{s.Text(allocation.Cluster, row), s.Text(allocation.Namespace, row), s.Text(allocation.Pod, row), s.Text(allocation.PodUID, row)}
				if pods[key] == nil {
					pods[key] = &podHistory{}
				}
				pods[key].add(s, row, money)
			}
		}
		for key, p := range pods {
			p.end(judge)
			if !p.stretch.alive(w.until[key.cluster]) {
				delete(pods, key) // what has ended costs nothing any more
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	for key, p := range pods {
		v := p.stretch.verdict(w.until[key.cluster], q.Days)
		if v == used {
			continue
		}
		p.finish(w)
		if v == unused {
			found = append(found, p.pod)
		} else {
			doubtful = append(doubtful, p.pod)
		}
	}
	for _, list := range [][]Pod{found, doubtful} {
		slices.SortFunc(list, func(a, b Pod) int {
			return cmp.Or(cmp.Compare(b.Cost.Billed, a.Cost.Billed), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return found, doubtful, nil
}

// add adds a row, which is a container of the pod.
func (p *podHistory) add(s *allocation.Set, row int, money []allocation.Column) {
	text := func(x allocation.Property) string { return s.Text(x, row) }
	p.pod = Pod{
		Cluster: text(allocation.Cluster), Namespace: text(allocation.Namespace), Name: text(allocation.Pod), Node: text(allocation.NodeName),
		ControllerKind: text(allocation.ControllerKind), Controller: text(allocation.Controller),
	}
	if !p.inSet {
		p.set, p.inSet = podSums{}, true
		p.from, p.to = s.Start(row), s.End(row)
	}
	p.from = earlier(p.from, s.Start(row))
	if end := s.End(row); end.After(p.to) {
		p.to = end
	}
	for _, c := range podColumns {
		p.set.columns[c] += s.Value(c, row)
	}
	for _, c := range money {
		if c.Adjusts() {
			p.set.adjustment += s.Value(c, row)
		} else {
			p.set.list += s.Value(c, row)
		}
	}
	p.set.seconds = max(p.set.seconds, s.Value(allocation.RunningSeconds, row))
}

// end ends the rows of a set.
func (p *podHistory) end(judge func(*podSums) verdict) {
	if !p.inSet {
		return
	}
	p.inSet = false
	p.stretch.add(judge(&p.set), p.from, p.to)
	for _, c := range podColumns {
		p.all.columns[c] += p.set.columns[c]
	}
	p.all.list, p.all.adjustment, p.all.seconds = p.all.list+p.set.list, p.all.adjustment+p.set.adjustment, p.all.seconds+p.set.seconds
}

// finish fills in the numbers of the pod.
func (p *podHistory) finish(w *walk) {
	x, pod := &p.all, &p.pod
	pod.Cost = w.month(x.list, x.adjustment)
	hours := x.seconds / 3600
	for r := range allocation.NumResources {
		pod.Allocated[r] = x.columns[allocation.Hours.Of(r)] / hours
		pod.Requested[r] = x.columns[allocation.RequestHours.Of(r)] / hours
		pod.Used[r] = math.NaN()
		if running := x.columns[allocation.RunningSeconds]; x.columns[allocation.UnknownSeconds.Of(r)] < running {
			pod.Used[r] = x.columns[allocation.UsageHours.Of(r)] / hours * running / (running - x.columns[allocation.UnknownSeconds.Of(r)])
		}
	}
	pod.Sent, pod.Received = x.columns[allocation.NetworkTransferBytes]/x.seconds, x.columns[allocation.NetworkReceiveBytes]/x.seconds
	if pod.Sent+pod.Received == 0 {
		pod.Sent, pod.Received = math.NaN(), math.NaN()
	}
}

// usage says how much of a request was used. What requests nothing holds nothing.
func (x *podSums) usage(r allocation.Resource) verdict {
	request, use := x.columns[allocation.RequestHours.Of(r)], x.columns[allocation.UsageHours.Of(r)]
	switch limit := idlePart * request; {
	case request <= 0 || use >= limit:
		return used
	case use+x.columns[allocation.UnknownRequestHours.Of(r)] < limit:
		return unused
	}
	return unknown
}

// traffic says whether the pod sent and received less than so many bytes a second.
func (x *podSums) traffic(threshold float64) verdict {
	switch bytes := x.columns[allocation.NetworkTransferBytes] + x.columns[allocation.NetworkReceiveBytes]; {
	case bytes == 0:
		return unknown
	case bytes < threshold*x.seconds:
		return unused
	}
	return used
}
