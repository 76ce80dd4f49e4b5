package costapi

import (
	"math"
	"net/http"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/savings"
)

// savingNotes say what a saving is not.
var savingNotes = []string{
	"freed requests become idle until nodes shrink: the saving comes when they do",
	"money that is committed, by reservations or savings plans, and goes unused is not saved",
}

// kubecostSize is a recommendation in Kubecost's shape: quantities of Kubernetes, and the same as numbers.
type kubecostSize struct {
	ClusterID      string `json:"clusterID"`
	Namespace      string `json:"namespace"`
	ControllerKind string `json:"controllerKind"`
	ControllerName string `json:"controllerName"`
	ContainerName  string `json:"containerName"`

	RecommendedRequest           quantities  `json:"recommendedRequest"`
	NormalizedRecommendedRequest normalized  `json:"normalizedRecommendedRequest"`
	LatestKnownRequest           quantities  `json:"latestKnownRequest"`
	NormalizedLatestKnownRequest normalized  `json:"normalizedLatestKnownRequest"`
	AverageUsage                 quantities  `json:"averageUsage"`
	NormalizedAverageUsage       normalized  `json:"normalizedAverageUsage"`
	MaxUsage                     quantities  `json:"maxUsage"`
	NormalizedMaxUsage           normalized  `json:"normalizedMaxUsage"`
	MonthlySavings               cpuAndTotal `json:"monthlySavings"`
	CurrentEfficiency            cpuAndTotal `json:"currentEfficiency"`
}

type quantities struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

type normalized struct {
	CPUInMilliCores float64 `json:"cpuInMilliCores"`
	MemoryInMiB     float64 `json:"memoryInMiB"`
}

type cpuAndTotal struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	Total  float64 `json:"total"`
}

const mib = 1 << 20

// quantitiesOf writes cores and bytes as Kubecost does, rounded up. What is not known is 0.
func quantitiesOf(cores, bytes float64) (quantities, normalized) {
	zero := func(v float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return v
	}
	n := normalized{zero(cores) * 1000, zero(bytes) / mib}
	const slip = 1e-9 // of computing
	up := func(v float64) string { return strconv.FormatFloat(math.Ceil(v*(1-slip)), 'f', 0, 64) }
	return quantities{up(n.CPUInMilliCores) + "m", up(n.MemoryInMiB) + "Mi"}, n
}

func kubecostSizeOf(r *savings.Recommendation) kubecostSize {
	out := kubecostSize{ClusterID: r.Cluster, Namespace: r.Namespace, ControllerKind: r.ControllerKind, ControllerName: r.Controller, ContainerName: r.Name}
	out.RecommendedRequest, out.NormalizedRecommendedRequest = quantitiesOf(r.CPU.Request, r.RAM.Request)
	out.LatestKnownRequest, out.NormalizedLatestKnownRequest = quantitiesOf(r.Request[allocation.CPU], r.Request[allocation.RAM])
	out.AverageUsage, out.NormalizedAverageUsage = quantitiesOf(r.UsageMean[allocation.CPU], r.UsageMean[allocation.RAM])
	out.MaxUsage, out.NormalizedMaxUsage = quantitiesOf(r.UsageMax[allocation.CPU], r.UsageMax[allocation.RAM])
	cpu, memory := sizedSaving(&r.CPU), sizedSaving(&r.RAM)
	out.MonthlySavings = cpuAndTotal{cpu, memory, cpu + memory}
	each, total := r.Efficiency()
	out.CurrentEfficiency = cpuAndTotal{each[allocation.CPU], each[allocation.RAM], total}
	return out
}

// kubecostSizeList is Kubecost's answer where a part of the list is asked for, and that of topline, whose Recommendations are null.
type kubecostSizeList struct {
	TotalMonthlySavings float64
	Count               int
	Recommendations     []kubecostSize
}

// kubecostList is the answer for recommendations. Those without a request for both resources are left out: Kubecost's shape has no null.
func (a *api) kubecostList(q *request) (kubecostSizeList, []*allocation.Set, error) {
	list, sets, err := a.recommend(q)
	out := kubecostSizeList{Recommendations: []kubecostSize{}}
	for i := range list {
		if r := &list[i]; r.CPU.Known() && r.RAM.Known() {
			saving, _ := r.Saving()
			out.TotalMonthlySavings += saving
			out.Recommendations = append(out.Recommendations, kubecostSizeOf(r))
		}
	}
	out.Count = len(out.Recommendations)
	if out.Count > 0 {
		q.warnings = append(q.warnings, savingNotes...)
	}
	return out, sets, err
}

// serveKubecostSizes answers with recommended requests in Kubecost's shape.
func (a *api) serveKubecostSizes(w http.ResponseWriter, q *request) error {
	out, sets, err := a.kubecostList(q)
	if err != nil {
		return err
	}
	out.Recommendations = page(q, out.Recommendations)
	if q.sizing.paged {
		return q.writeAnswer(w, out, sets)
	}
	return q.writeAnswer(w, out.Recommendations, sets)
}

// serveKubecostSizesTopline answers with their total.
func (a *api) serveKubecostSizesTopline(w http.ResponseWriter, q *request) error {
	out, sets, err := a.kubecostList(q)
	if err != nil {
		return err
	}
	out.Recommendations = nil
	return q.writeAnswer(w, out, sets)
}

// sizeList is promcost's answer. Savings and risks are currency a month.
type sizeList struct {
	Profile       string   `json:"profile"`
	Count         int      `json:"count"`
	MonthlySaving float64  `json:"monthlySaving"`
	MonthlyRisk   float64  `json:"monthlyRisk"` // what it costs more where requests are below what is needed
	CPU           exceeded `json:"cpu"`
	Memory        exceeded `json:"memory"`
	Notes         []string `json:"notes"`
	Requests      []size   `json:"requests"`
}

// exceeded is for which part of the known time usage is above requests: the recommended ones, and today's.
type exceeded struct {
	Exceedance        *float64 `json:"exceedance"`
	CurrentExceedance *float64 `json:"currentExceedance"`
}

// exceededOf is that of all recommendations for a resource, by the hours whose usage is known.
func exceededOf(list []savings.Recommendation, r allocation.Resource) exceeded {
	above, today, hours := 0.0, 0.0, 0.0
	for i := range list {
		sized := [...]*savings.Sized{allocation.CPU: &list[i].CPU, allocation.RAM: &list[i].RAM}[r]
		if sized.Known() {
			known := list[i].KnownHours[r]
			above, today, hours = above+sized.Exceedance*known, today+sized.Today*known, hours+known
		}
	}
	return exceeded{known(above / hours), known(today / hours)} // NaN of nothing
}

// size is the recommendation for a container. Amounts are in cores and bytes, parts from 0 to 1; null is unknown.
type size struct {
	Cluster        string      `json:"cluster"`
	Namespace      string      `json:"namespace"`
	ControllerKind string      `json:"controllerKind"`
	Controller     string      `json:"controller"`
	Container      string      `json:"container"`
	Init           bool        `json:"init"` // an init container, or a native sidecar
	Owner          *string     `json:"owner"`
	RunningHours   float64     `json:"runningHours"` // of all replicas
	Days           int         `json:"days"`         // with known usage
	LowConfidence  bool        `json:"lowConfidence"`
	HPA            []string    `json:"hpa"` // the resources that a HorizontalPodAutoscaler follows
	Throttled      *float64    `json:"throttled"`
	Waiting        *float64    `json:"waiting"`
	OOMKilledBytes *float64    `json:"oomKilledBytes"`
	MonthlySaving  float64     `json:"monthlySaving"`
	MonthlyRisk    float64     `json:"monthlyRisk"`
	CPU            sizedAmount `json:"cpu"`
	Memory         sizedMemory `json:"memory"`
}

// sizedAmount is the recommendation for a resource.
type sizedAmount struct {
	Request           float64     `json:"request"` // today's; 0 for none
	Limit             float64     `json:"limit"`   // today's; 0 for none
	Recommended       *float64    `json:"recommended"`
	Why               savings.Why `json:"why"`
	Low               *float64    `json:"low"`
	High              *float64    `json:"high"`
	Exceedance        *float64    `json:"exceedance"`
	CurrentExceedance *float64    `json:"currentExceedance"`
	KnownHours        float64     `json:"knownHours"`
	UsageAverage      *float64    `json:"usageAverage"`
	UsageMax          *float64    `json:"usageMax"`
	MonthlySaving     *float64    `json:"monthlySaving"` // below 0 it costs more
	// Distribution is of usage; null where it is unknown, or not asked for.
	Distribution *distribution `json:"distribution"`
}

// distribution is for which parts of the known time usage was how high. A level ends a bar, and begins the next one.
type distribution struct {
	Levels []float64 `json:"levels"` // cores or bytes
	Shares []float64 `json:"shares"` // each between two levels, 0 to 1
}

type sizedMemory struct {
	sizedAmount
	RecommendedLimit *float64  `json:"recommendedLimit"`
	HighestDays      []float64 `json:"highestDays"` // the two highest daily maxima
}

func sizedAmountOf(x *savings.Container, s *savings.Sized, r allocation.Resource) sizedAmount {
	return sizedAmount{
		Request: x.Request[r], Limit: x.Limit[r], Recommended: known(s.Request), Why: s.Why, Low: known(s.Low), High: known(s.High),
		Exceedance: known(s.Exceedance), CurrentExceedance: known(s.Today), KnownHours: x.KnownHours[r],
		UsageAverage: known(x.UsageMean[r]), UsageMax: known(x.UsageMax[r]), MonthlySaving: known(s.Saving),
	}
}

// distribute adds how usage was distributed.
func (s *size) distribute(x *savings.Container) {
	s.CPU.Distribution = (*distribution)(x.Distribution(allocation.CPU))
	s.Memory.Distribution = (*distribution)(x.Distribution(allocation.RAM))
}

func sizeOf(r *savings.Recommendation) size {
	x := r.Container
	out := size{
		Cluster: x.Cluster, Namespace: x.Namespace, ControllerKind: x.ControllerKind, Controller: x.Controller, Container: x.Name, Init: x.Init,
		RunningHours: x.RunningHours, Days: r.Days, LowConfidence: r.LowConfidence, HPA: []string{},
		Throttled: known(x.Signals.Throttled), Waiting: known(x.Signals.Waiting), OOMKilledBytes: known(x.Signals.OOMKilled),
		CPU:    sizedAmountOf(x, &r.CPU, allocation.CPU),
		Memory: sizedMemory{sizedAmountOf(x, &r.RAM, allocation.RAM), known(r.MemoryLimit), append([]float64{}, r.HighestDays...)},
	}
	out.MonthlySaving, out.MonthlyRisk = r.Saving()
	if x.Owner != "" {
		out.Owner = &x.Owner
	}
	for i, name := range [...]string{allocation.CPU: "cpu", allocation.RAM: "memory"} {
		if x.Signals.Scaled[i] {
			out.HPA = append(out.HPA, name)
		}
	}
	return out
}

// serveRequestSizes answers with recommended requests, and what they rest on.
func (a *api) serveRequestSizes(w http.ResponseWriter, q *request) error {
	list, sets, err := a.recommend(q)
	if err != nil {
		return err
	}
	out := sizeList{Profile: q.sizing.preset.Name, Count: len(list), CPU: exceededOf(list, allocation.CPU), Memory: exceededOf(list, allocation.RAM), Notes: savingNotes, Requests: []size{}}
	for i := range list {
		saving, risk := list[i].Saving()
		out.MonthlySaving, out.MonthlyRisk = out.MonthlySaving+saving, out.MonthlyRisk+risk
	}
	list = page(q, list)
	for i := range list {
		one := sizeOf(&list[i])
		if q.sizing.distribution {
			one.distribute(list[i].Container)
		}
		out.Requests = append(out.Requests, one)
	}
	return q.writeAnswer(w, out, sets)
}
