package savings_test

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/savings"
)

// usageStart is a Monday.
var usageStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// every makes a sample each five minutes of some days.
func every(days int, usage func(at time.Duration) (cores, ram float64)) (list []sample) {
	for at := time.Duration(0); at <= time.Duration(days)*24*time.Hour; at += 5 * time.Minute {
		cores, ram := usage(at)
		list = append(list, sample{usageStart.Add(at), cores, ram})
	}
	return list
}

func constantly(cores, ram float64) func(time.Duration) (float64, float64) {
	return func(time.Duration) (float64, float64) { return cores, ram }
}

// collected collects the usage of containers over some days, for all presets.
func collected(t *testing.T, days int, containers ...container) *savings.Usage {
	t.Helper()
	o := savings.Options{Window: allocation.Window{Start: usageStart, End: usageStart.Add(time.Duration(days) * 24 * time.Hour)}}.For(savings.Presets()...)
	u, err := savings.Collect(usedHours(usageStart, days*24, containers...), o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// recommended recommends by a preset.
func recommended(t *testing.T, u *savings.Usage, preset string) []savings.Recommendation {
	t.Helper()
	p, err := savings.PresetNamed(preset)
	if err != nil {
		t.Fatal(err)
	}
	return savings.Recommend(u, p, u.HoursCovered(time.Time{}))
}

// TestConstantLoad holds the presets against what the peers' own questions to Prometheus return of a constant load: every quantile and maximum of it is the load itself.
func TestConstantLoad(t *testing.T) {
	const cores, ram = 0.4321, 1.5 * gib
	u := collected(t, 10, container{namespace: "n", controller: "web", pod: "a", request: [2]float64{1, 4 * gib}, usage: every(10, constantly(cores, ram))})
	for _, tt := range []struct {
		preset   string
		cpu, ram float64
	}{
		{"krr", cores, 1.15 * ram},
		{"vpa", 1.15 * cores, 1.15 * ram},
		{"kubecost", cores / 0.7, ram / 0.7},
		{"tight", 1.10 * cores, 1.15 * ram},
		{"balanced", 1.05 * cores, 1.15 * ram},
		{"safe", 1.05 * cores, 1.15 * ram},
	} {
		got := recommended(t, u, tt.preset)[0]
		for _, x := range []struct {
			name      string
			got, want float64
		}{{"cpu", got.CPU.Request, tt.cpu}, {"memory", got.RAM.Request, tt.ram}} {
			if x.got < x.want*(1-1e-9) || x.got > x.want*1.01 {
				t.Errorf("%s recommends %v of %s, want %v, rounded up to three digits", tt.preset, x.got, x.name, x.want)
			}
		}
		if got.CPU.Low != got.CPU.High || got.CPU.Low != got.CPU.Request {
			t.Errorf("%s: bounds of a constant load are %v and %v, want %v", tt.preset, got.CPU.Low, got.CPU.High, got.CPU.Request)
		}
	}
}

// TestNeverAbove says that usage is never above a request only where the highest usage is not.
func TestNeverAbove(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		u := collected(t, 3, container{namespace: "n", controller: "web", pod: "a", request: [2]float64{0.96, gib}, usage: every(3, func(time.Duration) (float64, float64) {
			return 0.92 + 0.07*math.Pow(random.Float64(), 4), gib // seldom high, in one bucket
		})})
		for _, p := range savings.Presets() {
			r := recommended(t, u, p.Name)[0]
			for _, of := range []struct {
				name             string
				request, exceeds float64
			}{{"the recommended request", r.CPU.Request, r.CPU.Exceedance}, {"today's request", r.Request[allocation.CPU], r.CPU.Today}} {
				if most := r.UsageMax[allocation.CPU]; (of.exceeds > 0) != (most > of.request) {
					t.Errorf("seed %d, %s: usage up to %v is above %s of %v in %v of the time", seed, p.Name, most, of.name, of.request, of.exceeds)
				}
			}
		}
	}
}

// decaying is the histogram of the VerticalPodAutoscaler, as documented: buckets that grow by 5 %, and samples whose weight halves every 24 hours.
type decaying struct {
	first   float64
	weights map[int]float64
}

func (h *decaying) add(v float64, weight float64, at time.Duration) {
	bucket := 0
	if v >= h.first {
		bucket = int(math.Log(v*0.05/h.first+1) / math.Log(1.05))
	}
	h.weights[bucket] += weight * math.Exp2(at.Hours()/24)
}

// quantile is the end of the bucket that it lies in.
func (h *decaying) quantile(q float64) float64 {
	total, buckets := 0.0, []int{}
	for b, w := range h.weights {
		total += w
		buckets = append(buckets, b)
	}
	slices.Sort(buckets)
	sum := 0.0
	for _, b := range buckets {
		if sum += h.weights[b]; sum >= q*total {
			return h.first * (math.Pow(1.05, float64(b+1)) - 1) / 0.05
		}
	}
	return 0
}

// TestVPA compares the preset with a decaying histogram, over a load that changes.
func TestVPA(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		usage := every(8, func(at time.Duration) (float64, float64) {
			wave := 1 + 0.8*math.Sin(2*math.Pi*at.Hours()/24)
			return wave * (0.2 + random.ExpFloat64()) * (1 + at.Hours()/100), gib * (1 + wave + random.Float64())
		})
		cpu, ram := decaying{0.01, map[int]float64{}}, decaying{1e7, map[int]float64{}}
		peaks := [8]float64{}
		for _, s := range usage[:len(usage)-1] {
			at := s.at.Sub(usageStart)
			cpu.add(s.cores, 1, at)
			peaks[int(at.Hours()/24)] = max(peaks[int(at.Hours()/24)], s.ram)
		}
		for d, peak := range peaks {
			ram.add(peak, 1, time.Duration(d)*24*time.Hour)
		}
		got := recommended(t, collected(t, 8, container{namespace: "n", controller: "web", pod: "a", usage: usage}), "vpa")[0]
		for _, x := range []struct {
			name      string
			got, want float64
		}{{"cpu", got.CPU.Request, 1.15 * cpu.quantile(0.9)}, {"memory", got.RAM.Request, 1.15 * ram.quantile(0.9)}} {
			if math.Abs(x.got/x.want-1) > 0.06 { // a bucket of the histogram, and one of the levels
				t.Errorf("seed %d: %s is %v, by a decaying histogram %v", seed, x.name, x.got, x.want)
			}
		}
	}
}

// TestWeekday holds what was busy a week before against a quiet week since.
func TestWeekday(t *testing.T) {
	busy := func(day int) func(at time.Duration) (float64, float64) {
		return func(at time.Duration) (float64, float64) {
			if int(at.Hours()/24) == day {
				return 2, gib
			}
			return 0.5, gib
		}
	}
	for _, tt := range []struct {
		name string
		day  int
		why  savings.Why
		want float64
	}{{"the weekday of the day to come", 7, savings.ByWeekday, 2.1}, {"another day of the week before", 8, savings.ByQuantile, 0.525}} {
		got := recommended(t, collected(t, 14, container{namespace: "n", controller: "web", pod: "a", usage: every(14, busy(tt.day))}), "balanced")[0]
		if got.CPU.Why != tt.why || math.Abs(got.CPU.Request-tt.want) > 0.02*tt.want {
			t.Errorf("%s: %v because of %s, want about %v because of %s", tt.name, got.CPU.Request, got.CPU.Why, tt.want, tt.why)
		}
	}
}

// TestSaving takes the saving from what the container would have cost at the recommended request.
func TestSaving(t *testing.T) {
	wave := every(7, func(at time.Duration) (float64, float64) { return 0.5 + 0.4*math.Sin(at.Hours()), 2 * gib })
	for _, tt := range []struct {
		name    string
		request [2]float64
	}{{"over-requested", [2]float64{4, 8 * gib}}, {"under-requested", [2]float64{0.1, gib}}, {"no request", [2]float64{}}} {
		t.Run(tt.name, func(t *testing.T) {
			got := recommended(t, collected(t, 7, container{namespace: "n", controller: "web", pod: "a", request: tt.request, usage: wave}), "balanced")[0]
			wantCPU, wantRAM, above, today := 0.0, 0.0, 0.0, 0.0
			for _, s := range wave[:len(wave)-1] {
				wantCPU += (max(tt.request[0], s.cores) - max(got.CPU.Request, s.cores)) / 12 * pricePerCoreHour
				wantRAM += (max(tt.request[1], s.ram) - max(got.RAM.Request, s.ram)) / 12 * pricePerByteHour
				if s.cores > got.CPU.Request {
					above += 1.0 / float64(len(wave)-1)
				}
				if s.cores > tt.request[0] {
					today += 1.0 / float64(len(wave)-1)
				}
			}
			month := 730.0 / (7 * 24)
			near := cmpopts.EquateApprox(0.02, 1e-9)
			if diff := cmp.Diff([]float64{wantCPU * month, wantRAM * month}, []float64{got.CPU.Saving, got.RAM.Saving}, near); diff != "" {
				t.Errorf("savings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]float64{above, today}, []float64{got.CPU.Exceedance, got.CPU.Today}, cmpopts.EquateApprox(0, 0.02)); diff != "" {
				t.Errorf("time above the recommendation, and above today's request (-want +got):\n%s", diff)
			}
			saving, risk := got.Saving()
			if diff := cmp.Diff([]float64{max(0, got.CPU.Saving) + max(0, got.RAM.Saving), max(0, -got.CPU.Saving) + max(0, -got.RAM.Saving)}, []float64{saving, risk}); diff != "" {
				t.Errorf("saving and risk (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSavingAtPricesOfTheTime takes the saving at the prices that there were while a container requested what it did: they rose by half when its request was doubled.
func TestSavingAtPricesOfTheTime(t *testing.T) {
	wave := every(8, func(at time.Duration) (float64, float64) { return 0.5 + 0.4*math.Sin(at.Hours()), 2 * gib })
	half := len(wave) / 2
	replicas := []container{
		{namespace: "n", controller: "web", pod: "a", request: [2]float64{0.5, gib}, usage: wave[:half+1]},
		{namespace: "n", controller: "web", pod: "b", request: [2]float64{1, 4 * gib}, usage: wave[half:], dearer: 1.5},
	}
	for _, idle := range []bool{false, true} {
		if idle { // the first half costs nothing, and would cost something
			replicas[0].request, replicas[0].usage = [2]float64{}, []sample{{at: wave[0].at}, {at: wave[half].at}}
		}
		got := recommended(t, collected(t, 8, replicas...), "balanced")[0]
		cpu, ram := 0.0, 0.0
		for _, c := range replicas {
			for i, s := range c.usage[:len(c.usage)-1] {
				hours, dearer := c.usage[i+1].at.Sub(s.at).Hours(), max(c.dearer, 1)
				if idle {
					dearer = 1.5 // all that is known of prices
				}
				cpu += (max(c.request[0], s.cores) - max(got.CPU.Request, s.cores)) * hours * pricePerCoreHour * dearer
				ram += (max(c.request[1], s.ram) - max(got.RAM.Request, s.ram)) * hours * pricePerByteHour * dearer
			}
		}
		month := 730.0 / (8 * 24)
		if diff := cmp.Diff([]float64{cpu * month, ram * month}, []float64{got.CPU.Saving, got.RAM.Saving}, cmpopts.EquateApprox(0.01, 0)); diff != "" {
			t.Errorf("idle at first: %v: savings (-want +got):\n%s", idle, diff)
		}
	}
}

// TestReplicas pools replicas, except where a preset asks for the pod that uses most.
func TestReplicas(t *testing.T) {
	small := container{namespace: "n", controller: "web", pod: "a", usage: every(3, constantly(0.1, gib))}
	large := container{namespace: "n", controller: "web", pod: "b", usage: every(3, constantly(1, gib))}
	u := collected(t, 3, small, small, small, large)
	if len(u.Containers) != 1 {
		t.Fatalf("%d containers, want replicas to be one", len(u.Containers))
	}
	for preset, want := range map[string]float64{"krr": 1, "tight": 1.1, "kubecost": 1.43} {
		if got := recommended(t, u, preset)[0]; got.CPU.Request != want {
			t.Errorf("%s recommends %v cores, want %v", preset, got.CPU.Request, want)
		}
	}
	if x := u.Containers[0]; x.RunningHours != 4*72 || math.Abs(x.UsageMean[0]-1.3/4) > 1e-9 || x.UsageMax[0] != 1 {
		t.Errorf("%v hours, %v cores in the mean, at most %v", x.RunningHours, x.UsageMean[0], x.UsageMax[0])
	}
}

// TestWhy takes what else is known of containers into account: for our presets, not for those of peers.
func TestWhy(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name     string
		signals  savings.Signals
		days     int
		usage    float64
		preset   string
		cpu, ram savings.Why
	}{
		{"usage", savings.Signals{}, 3, 0.5, "balanced", savings.ByQuantile, savings.ByMaximum},
		{"floor", savings.Signals{}, 3, 0.0001, "balanced", savings.ByFloor, savings.ByMaximum},
		{"scaled by CPU", savings.Signals{Scaled: [2]bool{true, false}}, 3, 0.5, "balanced", savings.Autoscaled, savings.ByMaximum},
		{"scaled by memory, for a peer", savings.Signals{Scaled: [2]bool{false, true}}, 3, 0.5, "krr", savings.ByQuantile, savings.ByMaximum},
		{"throttled", savings.Signals{Throttled: 0.06}, 3, 0.5, "balanced", savings.ByThrottle, savings.ByMaximum},
		{"hardly throttled", savings.Signals{Throttled: 0.05, Waiting: 0.1}, 3, 0.5, "balanced", savings.ByQuantile, savings.ByMaximum},
		{"waiting", savings.Signals{Waiting: 0.11}, 3, 0.5, "balanced", savings.ByThrottle, savings.ByMaximum},
		{"unknown", savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: nan}, 3, 0.5, "balanced", savings.ByQuantile, savings.ByMaximum},
		{"killed", savings.Signals{OOMKilled: 2 * gib}, 3, 0.5, "balanced", savings.ByQuantile, savings.ByKill},
		{"killed, for a peer", savings.Signals{OOMKilled: 2 * gib}, 3, 0.5, "kubecost", savings.ByMaximum, savings.ByMaximum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := collected(t, tt.days, container{namespace: "n", controller: "web", pod: "a", request: [2]float64{2, gib}, usage: every(tt.days, constantly(tt.usage, gib))})
			u.Containers[0].Signals = tt.signals
			got := recommended(t, u, tt.preset)[0]
			if got.CPU.Why != tt.cpu || got.RAM.Why != tt.ram {
				t.Errorf("because of %s and %s, want %s and %s", got.CPU.Why, got.RAM.Why, tt.cpu, tt.ram)
			}
			if tt.cpu == savings.ByThrottle && got.CPU.Request != 2 {
				t.Errorf("%v cores, want today's 2", got.CPU.Request)
			}
			if tt.cpu == savings.Autoscaled && got.CPU.Known() {
				t.Errorf("%v cores, want no recommendation", got.CPU.Request)
			}
			if tt.ram == savings.ByKill && math.Abs(got.RAM.Request/(1.2*1.15*2*gib)-1) > 0.01 {
				t.Errorf("%v bytes, want 1.38 times the 2 GiB at which it was killed", got.RAM.Request)
			}
		})
	}
}

// TestSignals reads from rows what else decides.
func TestSignals(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name    string
		limit   float64 // of memory
		signals map[allocation.Column]float64
		want    savings.Signals
	}{
		{"nothing", gib, nil, savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: nan}},
		{"never throttled", gib, map[allocation.Column]float64{allocation.CPUPeriods: 100}, savings.Signals{Throttled: 0, Waiting: nan, OOMKilled: nan}},
		{"throttled", gib, map[allocation.Column]float64{allocation.CPUPeriods: 100, allocation.ThrottledPeriods: 25}, savings.Signals{Throttled: 0.25, Waiting: nan, OOMKilled: nan}},
		{"waiting", gib, map[allocation.Column]float64{allocation.CPUWaitingSeconds: 360}, savings.Signals{Throttled: nan, Waiting: 0.1, OOMKilled: nan}},
		{"scaled by CPU", gib, map[allocation.Column]float64{allocation.CPUScaledSeconds: 3600}, savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: nan, Scaled: [2]bool{true, false}}},
		{"an init container", gib, map[allocation.Column]float64{allocation.InitSeconds: 3600}, savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: nan}},
		{"killed at its limit", 2 * gib, map[allocation.Column]float64{allocation.OOMKills: 1}, savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: 2 * gib}},
		{"killed without a limit", 0, map[allocation.Column]float64{allocation.OOMKills: 1}, savings.Signals{Throttled: nan, Waiting: nan, OOMKilled: gib}},
	} {
		u := collected(t, 2, container{namespace: "n", controller: "web", pod: "a", limit: [2]float64{0, tt.limit}, usage: every(2, constantly(0.5, gib)), signals: tt.signals})
		if init := tt.signals[allocation.InitSeconds] > 0; u.Containers[0].Init != init {
			t.Errorf("%s: an init container: %v, want %v", tt.name, u.Containers[0].Init, init)
		}
		if diff := cmp.Diff(tt.want, u.Containers[0].Signals, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestConfidence says what rests on little.
func TestConfidence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hours int
		known bool
		low   bool
	}{{"half an hour", 0, false, true}, {"five hours", 5, true, true}, {"a day", 24, true, true}, {"two days", 48, true, false}} {
		length := max(30*time.Minute, time.Duration(tt.hours)*time.Hour)
		usage := []sample{{usageStart, 1, gib}, {usageStart.Add(length), 1, gib}}
		u := collected(t, 3, container{namespace: "n", controller: "web", pod: "a", usage: usage})
		got := recommended(t, u, "balanced")[0]
		if got.CPU.Known() != tt.known || got.LowConfidence != tt.low || math.IsNaN(got.CPU.Low) != tt.low {
			t.Errorf("%s: known %v, of low confidence %v, bounds from %v, want %v and %v", tt.name, got.CPU.Known(), got.LowConfidence, got.CPU.Low, tt.known, tt.low)
		}
		if !tt.known && got.CPU.Why != savings.TooShort {
			t.Errorf("%s: because of %s, want short", tt.name, got.CPU.Why)
		}
	}
}

// TestBounds covers what other days would have led to: a day in five is busy, so that some draws of days have none near the end.
func TestBounds(t *testing.T) {
	usage := every(14, func(at time.Duration) (float64, float64) {
		if int(at.Hours()/24)%5 == 3 {
			return 2, gib
		}
		return 0.5, gib
	})
	u := collected(t, 14, container{namespace: "n", controller: "web", pod: "a", usage: usage})
	got, again := recommended(t, u, "balanced")[0], recommended(t, u, "balanced")[0]
	if !(got.CPU.Low < 0.6 && got.CPU.High > 2 && got.CPU.Low <= got.CPU.Request && got.CPU.Request <= got.CPU.High) {
		t.Errorf("%v is between %v and %v", got.CPU.Request, got.CPU.Low, got.CPU.High)
	}
	if got.CPU.Low != again.CPU.Low || got.CPU.High != again.CPU.High {
		t.Error("the same question has other bounds")
	}
	if diff := cmp.Diff([]float64{gib, gib}, got.HighestDays); diff != "" {
		t.Errorf("highest days of memory (-want +got):\n%s", diff)
	}
}

// TestCollectFails passes errors on: of sets, and of memory that lacks.
func TestCollectFails(t *testing.T) {
	broken := errors.New("broken")
	failing := func(yield func(*allocation.Set, error) bool) { yield(nil, broken) }
	one := container{namespace: "n", controller: "web", pod: "a", usage: every(1, constantly(1, gib))}
	budget := memory.New(1024)
	account := budget.Open("ask for less")
	defer account.Close()
	for _, tt := range []struct {
		name string
		sets iter.Seq2[*allocation.Set, error]
		o    savings.Options
		want error
	}{
		{"sets", failing, savings.Options{}, broken},
		{"memory", usedHours(usageStart, 2, one), savings.Options{Memory: account}, allocation.ErrTooMuch},
		{"levels", func(yield func(*allocation.Set, error) bool) {
			s := allocation.NewSet(allocation.Window{Start: usageStart, End: usageStart.Add(time.Hour)}, allocation.NewDict())
			yield(allocation.NewRows(s).Set(), nil)
		}, savings.Options{}, allocation.ErrUnread},
	} {
		if _, err := savings.Collect(tt.sets, tt.o); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
	}
	for _, p := range savings.Backtest(collected(t, 7, one), savings.Presets()) {
		if p.Containers != 0 || !math.IsNaN(p.Slack) || !math.IsNaN(p.RAMDays) {
			t.Errorf("%s was tested over seven days, though no day has seven days before it: %+v", p.Preset, p)
		}
	}
	if _, err := savings.PresetNamed("best"); err == nil {
		t.Error("the preset best is known")
	}
}
