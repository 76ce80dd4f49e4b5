package encode

import (
	"io"
	"math"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// ACK is a set as Alibaba Cloud's Container Service for Kubernetes shows it.
type ACK struct {
	Set *allocation.Set
	// Bill is what a row's cluster costs altogether, idle and overhead included.
	Bill func(row int) float64
	// Custom is what a row costs at custom prices.
	Custom func(row int) float64
	// OneCluster says that all rows are of one cluster: their names leave it out.
	OneCluster bool
}

// ackFields are the averages of an ACK row, in the order they are sent.
var ackFields = []string{"cpuCoreRequestAverage", "cpuCoreUsageAverage", "ramByteRequestAverage", "ramByteUsageAverage"}

// controllerKinds are Kubernetes' own spellings of kinds that sets have in lower case.
var controllerKinds = map[string]string{
	"deployment": "Deployment", "daemonset": "DaemonSet", "statefulset": "StatefulSet", "replicaset": "ReplicaSet",
	"job": "Job", "cronjob": "CronJob", "replicationcontroller": "ReplicationController", "rollout": "Rollout", "node": "Node", "pod": "Pod",
}

// ackRow is a row as ACK shows it.
type ackRow struct {
	name                       string
	properties                 [4]string // in the order of ackProperties
	averages                   [4]float64
	cost, costRatio, customary float64
}

// ackProperties are the properties of an ACK row, in the order they are sent.
var ackProperties = [4]struct {
	name     string
	property allocation.Property
}{
	{"controller", allocation.Controller}, {"controllerKind", allocation.ControllerKind}, {"namespace", allocation.Namespace}, {"pod", allocation.Pod},
}

// rows are the rows of the set in the order of their names.
func (a *ACK) rows(o *Options, yield func(r *ackRow)) {
	values := make([]func(*allocation.Set, int) float64, len(ackFields))
	for _, f := range fields.All() {
		for i, name := range ackFields {
			if f.Name == name {
				values[i] = f.Value
			}
		}
	}
	for _, named := range o.rows(a.Set) {
		r := ackRow{name: named.name, cost: a.Set.TotalCost(named.row), customary: a.Custom(named.row)}
		if bill := a.Bill(named.row); bill != 0 {
			r.costRatio = r.cost / bill
		}
		for i, p := range ackProperties {
			r.properties[i] = a.Set.Text(p.property, named.row)
		}
		if _, rest, ok := strings.Cut(r.name, "/"); ok && a.OneCluster {
			r.name = rest
		}
		r.spell()
		for i, value := range values {
			r.averages[i] = value(a.Set, named.row)
		}
		yield(&r)
	}
}

// spell writes the kind of the controller as Kubernetes does, in the name too.
func (r *ackRow) spell() {
	kind := r.properties[1]
	own, ok := controllerKinds[kind]
	if !ok {
		return
	}
	r.properties[1] = own
	for _, tail := range [...]string{kind, kind + ":" + r.properties[0]} {
		if front, ok := strings.CutSuffix(r.name, tail); ok && (front == "" || strings.HasSuffix(front, "/")) {
			r.name = front + own + tail[len(kind):]
		}
	}
}

// ACKAllocations writes sets as ACK's cost API sends them. Times are those of the sets, in the options' time zone, and
// end at Options.Now.
func ACKAllocations(w io.Writer, sets []ACK, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":[`...)
	if len(sets) == 0 {
		s.b = append(s.b, "{}"...)
	}
	var all []*allocation.Set
	for i := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		all = append(all, sets[i].Set)
		s.b = append(s.b, '{')
		first := true
		sets[i].rows(&o, func(r *ackRow) {
			if !first {
				s.b = append(s.b, ',')
			}
			first = false
			s.b = append(appendString(s.b, r.name), ':')
			from := len(s.b)
			s.b = o.keep(o.appendACK(s.b, r, sets[i].Set.Window), from)
			s.checkpoint()
		})
		s.b = append(s.b, '}')
	}
	s.b = o.end(append(s.b, ']'), all)
	return s.close()
}

// until is a window that ends at Options.Now at the latest.
func (o *Options) until(w allocation.Window) allocation.Window {
	if !o.Now.IsZero() && w.End.After(o.Now) && o.Now.After(w.Start) {
		w.End = o.Now
	}
	return w
}

func (o *Options) appendACK(b []byte, r *ackRow, w allocation.Window) []byte {
	b = appendString(append(b, `{"name":`...), r.name)
	b = append(b, `,"properties":{`...)
	from := len(b)
	for i, p := range ackProperties {
		if r.properties[i] == "" {
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), p.name...), `":`...)
		b = appendString(b, r.properties[i])
	}
	w = o.until(w)
	b = appendTime(append(b, `},"start":`...), w.Start.In(o.location()))
	b = appendTime(append(b, `,"end":`...), w.End.In(o.location()))
	for i, name := range ackFields {
		b = appendNumbers(b, number{name, r.averages[i]})
	}
	b = appendNumbers(b, number{"cost", r.cost}, number{"costRatio", r.costRatio}, number{"customCost", r.customary})
	return append(b, '}')
}

// ACKCSV writes sets as ACKAllocations does, a line a row, under the names of the members of JSON.
func ACKCSV(w io.Writer, sets []ACK, o Options) error {
	s := newStream(w)
	s.b = append(s.b, "name"...)
	for _, p := range ackProperties {
		s.b = append(append(s.b, ','), p.name...)
	}
	s.b = append(s.b, ",start,end,"+strings.Join(ackFields, ",")+",cost,costRatio,customCost\n"...)
	for i := range sets {
		window := o.until(sets[i].Set.Window)
		sets[i].rows(&o, func(r *ackRow) {
			s.b = appendCell(s.b, r.name)
			for _, text := range r.properties {
				s.b = appendCell(append(s.b, ','), text)
			}
			s.b = append(append(s.b, ','), window.Start.In(o.location()).Format(time.RFC3339)...)
			s.b = append(append(s.b, ','), window.End.In(o.location()).Format(time.RFC3339)...)
			for _, v := range append(r.averages[:], r.cost, r.costRatio, r.customary) {
				if s.b = append(s.b, ','); !math.IsNaN(v) {
					s.b = appendNumber(s.b, v)
				}
			}
			s.b = append(s.b, '\n')
			s.checkpoint()
		})
	}
	return s.close()
}
