package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/texttable"
)

// savingsJSON is an answer of the API about three controllers.
const savingsJSON = `{"data":{"profile":"balanced","count":4,"monthlySaving":40.5,"monthlyRisk":3,"cpu":{"exceedance":0.031},"memory":{"exceedance":0},"notes":["freed requests become idle"],"requests":[
	{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"front","container":"nginx","owner":"a","runningHours":672,"days":14,"monthlySaving":40.5,"monthlyRisk":0,
		"cpu":{"request":2,"recommended":0.263,"low":0.25,"high":0.3,"why":"quantile","exceedance":0.04,"currentExceedance":0},
		"memory":{"request":4294967296,"recommended":1240000000,"recommendedLimit":4294967296,"why":"maximum","exceedance":0,"currentExceedance":0}},
	{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"front","container":"log\u001b[31m","runningHours":20,"days":1,"lowConfidence":true,"monthlySaving":0,"monthlyRisk":3,
		"cpu":{"request":0.01,"recommended":0.1,"why":"quantile","exceedance":0.0001,"currentExceedance":0.5},"memory":{"request":0,"why":"unknown"}},
	{"cluster":"one","namespace":"jobs","controllerKind":"cronjob","controller":"nightly","container":"main","runningHours":14,"days":14,
		"cpu":{"why":"hpa"},"memory":{"request":1000000,"recommended":34800000,"recommendedLimit":34800000,"why":"floor","exceedance":0}},
	{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"front","container":"proxy","init":true,"runningHours":672,"days":14,
		"cpu":{"request":0.5,"limit":0.5,"recommended":0.525,"why":"quantile","exceedance":0,"currentExceedance":0},
		"memory":{"request":1000000,"limit":34800000,"recommended":34800000,"recommendedLimit":34800000,"why":"floor","exceedance":0}},
	{"cluster":"one","namespace":"jobs","controllerKind":"pod","controller":"once","container":"main","runningHours":0.2,"days":1,"lowConfidence":true,"cpu":{"why":"short"},"memory":{"why":"short"}}]}}`

func readSavings(t *testing.T) *savingsAnswer {
	t.Helper()
	var answer savingsAnswer
	if err := json.Unmarshal([]byte(savingsJSON), &answer); err != nil {
		t.Fatal(err)
	}
	return &answer
}

// TestSavingsTable says in words what recommendations risk. Nothing in it is obeyed by a terminal.
func TestSavingsTable(t *testing.T) {
	var b strings.Builder
	if err := readSavings(t).print(&b, readSavings(t).head("14d", "EUR"), texttable.Layout{Wide: true}); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`requests by balanced over 14d, savings in EUR a month, costs at list prices`, ``,
		`CONTAINER                  CPU  BETTER  MEMORY  BETTER  SAVES  COSTS  RISK`,
		`web/front/nginx          2000m    263m     4Gi  1.15Gi  40.50   0.00  CPU above its request 4 % of the time`,
		`web/front/log\u001b[31m    10m    100m       –       –   0.00   3.00  CPU above its request less than 0.1 % of the time, CPU now 50 % of the time, memory usage is not known, rests on 20 h only`,
		`jobs/nightly/main            –       –   977Ki  33.2Mi   0.00   0.00  CPU is scaled by a HorizontalPodAutoscaler`,
		`web/front/proxy           500m    525m   977Ki  33.2Mi   0.00   0.00  never above its requests`,
		`jobs/once/main               –       –       –       –   0.00   0.00  CPU: ran for less than an hour, memory: ran for less than an hour, rests on 0.2 h only`,
		`TOTAL                                                   40.50   3.00  CPU above its request 3.1 % of the time`, ``,
		`COSTS: where a request is too low, a higher one costs 3.00 more. That is a risk, and no part of what is saved`,
		`freed requests become idle`, ``,
	}, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSmallSavings sums up what is small in a table: the column still adds up to the total.
func TestSmallSavings(t *testing.T) {
	var b strings.Builder
	if err := readSavings(t).print(&b, "", texttable.Layout{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		if cells := strings.Fields(line); strings.HasPrefix(line, "web/") || strings.HasPrefix(line, "3 small") || strings.HasPrefix(line, "TOTAL") {
			got = append(got, strings.Join(cells, " "))
		}
	}
	want := []string{
		`web/front/nginx 2000m 263m 4Gi 1.15Gi 40.50 0.00 CPU above its request 4 % of the time`,
		`web/front/log\u001b[31m 10m 100m – – 0.00 3.00 CPU above its request less than 0.1 % of the time, CPU now 50 % of the time, memory usage is not known, rests on 20 h only`,
		`3 small ones 0.00 0.00 -o wide shows them`,
		`TOTAL 40.50 3.00 CPU above its request 3.1 % of the time`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShareText writes parts of the time with two digits, and none with an exponent.
func TestShareText(t *testing.T) {
	for _, tt := range []struct {
		part float64
		want string
	}{{0.0001, "less than 0.1 %"}, {0.0123, "1.2 %"}, {0.04, "4 %"}, {0.0996, "10 %"}, {0.45, "45 %"}, {0.996, "100 %"}, {1, "100 %"}} {
		if got := percent(tt.part); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.part, got, tt.want)
		}
	}
}

// TestRaised tells apart a request that is too low, and one that was before it was raised: both cost more, and only the first has to grow.
func TestRaised(t *testing.T) {
	for _, tt := range []struct {
		name string
		cpu  string
		want string
	}{
		{"too low", `{"request":0.5,"recommended":0.9,"exceedance":0,"currentExceedance":0.3,"monthlySaving":-9}`, "CPU now 30 % of the time"},
		{"raised", `{"request":1.2,"recommended":0.9,"exceedance":0,"currentExceedance":0,"monthlySaving":-9}`, "never above its requests, was raised within the window"},
		{"too high", `{"request":1.2,"recommended":0.9,"exceedance":0,"currentExceedance":0,"monthlySaving":9}`, "never above its requests"},
	} {
		row := savingsRow{Memory: savingsAmount{Recommended: new(float64)}}
		row.Memory.Exceedance = new(float64)
		if err := json.Unmarshal([]byte(tt.cpu), &row.CPU); err != nil {
			t.Fatal(err)
		}
		if got := row.risk(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestMemoryText writes what containers request and should request in the same family of units.
func TestMemoryText(t *testing.T) {
	for _, tt := range []struct {
		bytes float64
		want  string
	}{{0, "–"}, {512, "0.5Ki"}, {50 << 20, "50Mi"}, {768 << 20, "768Mi"}, {853e6, "813Mi"}, {1023 << 20, "1023Mi"}, {1 << 30, "1Gi"}, {1.5 * (1 << 30), "1.5Gi"}, {27.3e9, "25.4Gi"}, {3 << 40, "3Ti"}} {
		if got := bytesText(&tt.bytes); got != tt.want {
			t.Errorf("%v bytes: %s, want %s", tt.bytes, got, tt.want)
		}
	}
}

// TestSavingsObjects writes a VerticalPodAutoscaler, or a patch, for each controller that can have one.
func TestSavingsObjects(t *testing.T) {
	for _, tt := range []struct {
		name   string
		inits  bool
		makeOf func([]savingsRow) k8sObject
		want   []string
		left   string
	}{
		{"vpa", false, verticalPodAutoscaler, []string{
			"kind: VerticalPodAutoscaler\nmetadata:\n  name: front\n  namespace: web\n", "kind: Deployment\n    name: front\n", "containerName: nginx\n        controlledResources:\n          - cpu\n          - memory\n",
			"minAllowed:\n          cpu: 263m\n          memory: 1240M\n", "name: nightly-cronjob\n", "kind: CronJob\n    name: nightly\n", "controlledResources:\n          - memory\n", "updateMode: Initial\n",
		}, "2 containers are left out"},
		{"patch", true, requestPatch, []string{
			"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: front\n  namespace: web\nspec:\n  template:\n    spec:\n      containers:\n        - name: nginx\n",
			"limits:\n              memory: 4Gi\n            requests:\n              cpu: 263m\n              memory: 1240M\n", "spec:\n  jobTemplate:\n    spec:\n      template:\n", "memory: 34800k\n",
			"      initContainers:\n        - name: proxy\n          resources:\n            limits:\n              cpu: 525m\n            requests:\n              cpu: 525m\n              memory: 34800k\n",
		}, "1 containers are left out"},
	} {
		var out, errs strings.Builder
		if err := readSavings(t).writeObjects(streams{raw: &out, err: &errs}, tt.inits, tt.makeOf); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks\n%s\nin\n%s", tt.name, want, out.String())
			}
		}
		if strings.Contains(out.String(), "once") || strings.Contains(out.String(), "proxy") != tt.inits || !strings.Contains(errs.String(), tt.left) {
			t.Errorf("%s: %s\n%s", tt.name, out.String(), errs.String())
		}
	}
	var none strings.Builder
	if err := (&savingsAnswer{}).writeObjects(streams{raw: &none, err: io.Discard}, true, requestPatch); err != nil || none.Len() > 0 {
		t.Errorf("without recommendations: %v, %q, want nothing", err, none.String())
	}
	two := readSavings(t)
	two.Data.Requests[1].Cluster = "two"
	if err := two.writeObjects(streams{raw: io.Discard, err: io.Discard}, true, requestPatch); err == nil || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("objects of two clusters: error %v", err)
	}
}

// TestSavingsCommands writes a command for each controller, with what it changes and saves, none with names that a shell would understand.
func TestSavingsCommands(t *testing.T) {
	var out, errs strings.Builder
	answer := readSavings(t)
	if err := answer.writeCommands(streams{raw: &out, err: &errs}, "requests"); err != nil {
		t.Fatal(err)
	}
	const nightly = "# jobs/nightly main: memory 977Ki → 33.2Mi, its limit – → 33.2Mi: costs the same\n" +
		`kubectl -n jobs patch cronjob nightly -p '{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"limits":{"memory":"34800k"},"requests":{"memory":"34800k"}}}]}}}}}}'` + "\n"
	if want := "# requests\n# These commands save 0.00 and, where requests grow, cost 0.00 more: costs the same in all.\n" + nightly; out.String() != want || !strings.Contains(errs.String(), "4 containers are left out") {
		t.Errorf("%s\n%s", out.String(), errs.String())
	}
	answer.Data.Requests[1].Container = "log"
	out.Reset()
	const front = "# requests\n# These commands save 40.50 and, where requests grow, cost 3.00 more: saves 37.50 a month in all.\n" +
		"# web/front nginx: CPU 2000m → 263m, memory 4Gi → 1.15Gi, its limit – → 4Gi: saves 40.50 a month\n" +
		"# web/front log: CPU 10m → 100m: costs 3.00 a month more\n" +
		"# web/front proxy: CPU 500m → 525m, its limit 500m → 525m, memory 977Ki → 33.2Mi: costs the same\n" +
		`kubectl -n web patch deployment front -p '{"spec":{"template":{"spec":{"containers":[{"name":"nginx",`
	if err := answer.writeCommands(streams{raw: &out, err: &errs}, "requests"); err != nil || !strings.HasPrefix(out.String(), front) || !strings.HasSuffix(out.String(), nightly) {
		t.Errorf("%v: %s", err, out.String())
	}
	answer.Data.Requests[3].Cluster = "two"
	if err := answer.writeCommands(streams{raw: io.Discard, err: io.Discard}, "requests"); err == nil {
		t.Error("commands for two clusters")
	}
	out.Reset()
	if err := (&savingsAnswer{}).writeCommands(streams{raw: &out, err: io.Discard}, "requests"); err != nil || out.Len() > 0 {
		t.Errorf("without recommendations: %v, %q, want nothing", err, out.String())
	}
}

// TestRaisedSavings counts what was raised within the window neither as a saving nor as a cost of commands that lower it.
func TestRaisedSavings(t *testing.T) {
	var answer savingsAnswer
	const ledger = `{"cluster":"one","namespace":"web","controllerKind":"deployment","controller":"ledger","container":"main","runningHours":300,"monthlyRisk":62.6,` +
		`"cpu":{"request":1.2,"recommended":0.93,"monthlySaving":-50,"exceedance":0,"currentExceedance":0},"memory":{"request":2415919104,"recommended":1880000000,"monthlySaving":-12.6,"exceedance":0,"currentExceedance":0}}`
	if err := json.Unmarshal([]byte(`{"data":{"count":1,"monthlyRisk":62.6,"requests":[`+ledger+`]}}`), &answer); err != nil {
		t.Fatal(err)
	}
	var table, commands strings.Builder
	if err := answer.print(&table, "", texttable.Layout{}); err != nil {
		t.Fatal(err)
	}
	if err := answer.writeCommands(streams{raw: &commands, err: io.Discard}, "requests"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		table.String():    "Requests that were raised within the window cost 62.60 more than before.",
		commands.String(): "cost 0.00 more: costs the same in all.\n# They also lower requests that were raised within the window, for 62.60 a month",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if want := "2.25Gi → 1.75Gi: lowers what was raised within the window\n"; !strings.Contains(commands.String(), want) {
		t.Errorf("no %q in\n%s", want, commands.String())
	}
}

// TestSavingsCSV leaves empty what is not known.
func TestSavingsCSV(t *testing.T) {
	var b strings.Builder
	if err := readSavings(t).writeCSV(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 7 || lines[1] != "one,web,deployment,front,nginx,a,false,40.5,0,2,0.263,0.25,0.3,quantile,0.04,4.294967296e+09,1.24e+09,4.294967296e+09,maximum,0" ||
		!strings.HasSuffix(lines[5], ",0,,,,short,,0,,,short,") {
		t.Errorf("%s", b.String())
	}
}

// TestBacktestOutput writes a table and a picture.
func TestBacktestOutput(t *testing.T) {
	var answer backtestAnswer
	if err := json.Unmarshal([]byte(`{"data":{"trainingDays":7,"points":[
		{"profile":"tight","slack":0.336,"exceedance":0.038,"memorySlack":0.15,"memoryDaysExceeded":0,"containers":8,"days":56},{"profile":"<none>","containers":0,"days":0}]}}`), &answer); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := answer.print(&b, texttable.Layout{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "tight        33.6 %      3.8 %         15.0 %         0.0 %           8    56\n<none>            –          –              –             –           0     0\n") {
		t.Errorf("%s", b.String())
	}
	picture := answer.picture()
	if err := xml.Unmarshal(picture, new(struct{ XMLName xml.Name })); err != nil || strings.Count(string(picture), "<circle") != 3 || !strings.Contains(string(picture), ">tight</text>") {
		t.Errorf("%v: %s", err, picture)
	}
}

// TestSavingsNarrow keeps what larger requests cost where a terminal is narrow: the line below the table explains it.
func TestSavingsNarrow(t *testing.T) {
	var b strings.Builder
	if err := readSavings(t).print(&b, "requests", texttable.Layout{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("a line of %d cells: %s", n, line)
		}
	}
	if head := strings.Split(b.String(), "\n")[2]; !strings.Contains(head, "SAVES  COSTS  RISK") {
		t.Errorf("%s", b.String())
	}
}
