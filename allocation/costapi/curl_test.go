package costapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// documentLedger has allocations that Kubecost's example filters select differently.
type documentLedger struct{}

func (documentLedger) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		s := allocation.NewSet(q.Window, allocation.NewDict())
		for _, r := range [][4]string{
			{"cluster-one", "kubecost", "cost-model", "cost-analyzer"},
			{"cluster-one", "kubecost", "frontend", "ui"},
			{"cluster-two", "kube-system", "cost-model", "dns"},
			{"cluster-two", "default", "main", ""},
		} {
			row := allocation.Row{Start: q.Window.Start, End: q.Window.End, Labels: map[string]string{"app": r[3]}}
			row.Text[allocation.Cluster], row.Text[allocation.Namespace], row.Text[allocation.Container] = r[0], r[1], r[2]
			s.Append(&row)
		}
		yield(s, nil)
	}
}

// curlCase is a request as it is typed into curl, what curl makes of it, and the rows that it asks for.
type curlCase struct {
	name   string
	args   []string // the one that begins with a slash is the URL without its host
	target string   // of the request, as curl sends it
	body   string   // of a POST, "" for GET
	want   string
}

// curlCases type Kubecost's example filters as users do: in the URL or not, with their + as it is, and quoted or not.
func curlCases() []curlCase {
	const (
		first, second = `namespace:"kubecost"+container:"cost-model"`, `cluster:"cluster-one"+label[app]:"cost-analyzer"`
		list, not     = `namespace:"kubecost","kube-system"`, `namespace!:"kubecost","kube-system"`
		path, day, by = "/allocation", "window=1d", "aggregate=namespace,container"
		form          = day + "&" + by + "&filter="
		in            = path + "?" + form
		model         = "kubecost/cost-model"
		three         = "kube-system/cost-model kubecost/cost-model kubecost/frontend"
		both          = `(namespace:"kubecost"|namespace:"default")+cluster:"cluster-two"`
	)
	of := func(args ...string) []string { return append([]string{path, "-d", day, "-d", by}, args...) }
	get := func(args ...string) []string { return append(of(args...), "-G") }
	url := func(filter string) []string { return []string{"-g", in + filter} }
	return []curlCase{
		{"in the URL", []string{in + first}, in + first, "", model},
		{"in the URL, a key", url(second), in + second, "", model},
		{"in the URL, not", url(`cluster!:"cluster-one"`), in + `cluster!:"cluster-one"`, "", "default/main kube-system/cost-model"},
		{"in the URL, a list", url(list), in + list, "", three},
		{"in the URL, not in a list", url(not), in + not, "", "default/main"},
		{"in the URL, or", url(both), in + both, "", "default/main"},
		{"in the URL, escaped", url("namespace%3A%22kubecost%22%2Bcontainer%3A%22cost-model%22"), in + "namespace%3A%22kubecost%22%2Bcontainer%3A%22cost-model%22", "", model},
		{"in the URL, a space", url(`namespace:"kubecost"%20container:"cost-model"`), in + `namespace:"kubecost"%20container:"cost-model"`, "", model},
		{"-d", get("-d", "filter="+first), in + first, "", model},
		{"-d, a key", get("-d", "filter="+second), in + second, "", model},
		{
			"--data-urlencode with spaces", get("--data-urlencode", `filter=namespace:"kubecost" + container:"cost-model"`),
			in + "namespace%3A%22kubecost%22+%2B+container%3A%22cost-model%22", "", model,
		},
		{"--data-urlencode", get("--data-urlencode", "filter="+second), in + "cluster%3A%22cluster-one%22%2Blabel%5Bapp%5D%3A%22cost-analyzer%22", "", model},
		{"a form", of("-d", "filter="+first), path, form + first, model},
		{"a form, urlencoded", of("--data-urlencode", "filter="+not), path, form + "namespace%21%3A%22kubecost%22%2C%22kube-system%22", "default/main"},
		{
			"selectors", get("-d", "fieldSelector=spec.cluster=cluster-one,metadata.namespace!=default", "--data-urlencode", "labelSelector=app in (ui,dns),!canary"),
			path + "?" + day + "&" + by + "&fieldSelector=spec.cluster=cluster-one,metadata.namespace!=default&labelSelector=app+in+%28ui%2Cdns%29%2C%21canary",
			"", "kubecost/frontend",
		},
	}
}

// checkKeys holds that an answer has the rows that a case asks for.
func (tc *curlCase) checkKeys(t *testing.T, answer []byte) {
	t.Helper()
	keys, _ := keysOf(t, answer)
	if diff := cmp.Diff(tc.want, strings.Join(keys, " ")); diff != "" {
		t.Errorf("%s: %.300s", diff, answer)
	}
}

// TestBytesOfCurl sends what curl sends, byte by byte: clients of Go would not write such URLs.
func TestBytesOfCurl(t *testing.T) {
	srv := httptest.NewServer(costapi.New(documentLedger{}, log.NewNopLogger(), costapi.Config{}))
	defer srv.Close()
	for _, tc := range curlCases() {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			const headers = " HTTP/1.1\r\nHost: promcost\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
			request := "GET " + tc.target + headers + "\r\n"
			if tc.body != "" {
				request = fmt.Sprintf("POST %s%sContent-Length: %d\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n%s", tc.target, headers, len(tc.body), tc.body)
			}
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v, %s: %s", err, resp.Status, answer)
			}
			tc.checkKeys(t, answer)
		})
	}
}

// TestCurl types the cases into curl itself, where it is installed: it must send what TestBytesOfCurl takes it to send.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed: TestBytesOfCurl sends what it would")
	}
	sent := make(chan string, 1)
	api := costapi.New(documentLedger{}, log.NewNopLogger(), costapi.Config{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- r.RequestURI + "\n" + string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		api.ServeHTTP(w, r)
	}))
	defer srv.Close()
	for _, tc := range curlCases() {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"-sS"}, tc.args...)
			at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "/") })
			args[at] = srv.URL + args[at]
			out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			// Whether hexadecimal digits are in lower case is up to curl's version.
			if diff := cmp.Diff(strings.ToLower(tc.target+"\n"+tc.body), strings.ToLower(<-sent)); diff != "" {
				t.Errorf("curl sends something else (-want +got): %s", diff)
			}
			tc.checkKeys(t, out)
		})
	}
}
