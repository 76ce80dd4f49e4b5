package promquery_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery"
)

// podUID is the UID in a cgroup path, "" where there is none.
func podUID(path string) string {
	uid, ok := promquery.PodUID(path)
	if !ok {
		return ""
	}
	return string(uid[:])
}

func TestCgroupUID(t *testing.T) {
	const uid = "0f2d3c1a-b111-4c22-8d33-000000000001"
	for _, tt := range []struct{ path, want string }{
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2d3c1a_b111_4c22_8d33_000000000001.slice/cri-containerd-abc.scope", uid},
		{"/kubepods/burstable/pod" + uid + "/abc", uid},
		{"/kubelet/kubepods/pod" + uid, uid},
		{"/kubepods/burstable/pod" + strings.Repeat("a", 32) + "/abc", ""},
		{"/kubepods/podpod" + uid, uid},
		{"/", ""},
		{"", ""},
		{"/kubepods/pod" + uid[:30], ""},
	} {
		if got := podUID(tt.path); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
}

// TestCgroupUIDLetters tries every byte at every place of a UID.
func TestCgroupUIDLetters(t *testing.T) {
	isUID := regexp.MustCompile(`^[[:xdigit:]]{8}([-_][[:xdigit:]]{4}){3}[-_][[:xdigit:]]{12}$`)
	for at := range 36 {
		for c := range 256 {
			text := []byte("0f2d3c1a-b111-4c22-8d33-00000000000F")
			text[at] = byte(c)
			want := ""
			if isUID.Match(text) {
				want = strings.ReplaceAll(string(text), "_", "-")
			}
			if got := podUID("/kubepods/pod" + string(text)); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}

func FuzzCgroupUID(f *testing.F) {
	f.Add("/kubepods/pod0f2d3c1a-b111-4c22-8d33-000000000001/abc")
	f.Add("podpodpod")
	f.Fuzz(func(t *testing.T, path string) {
		uid := podUID(path)
		if uid != "" && (len(uid) != 36 || !strings.Contains(strings.ReplaceAll(path, "_", "-"), "pod"+uid)) {
			t.Errorf("%q: got %q", path, uid)
		}
	})
}
