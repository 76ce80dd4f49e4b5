package promquery

import (
	"strings"

	"github.com/promcost/promcost/allocation"
)

// uidLength is the length of a UID in text.
const uidLength = 36

// uids are the symbols of the UIDs that were found in cgroup paths. There are many paths of a pod, and to look a symbol up among
// all of the process takes several times as long.
type uids map[string]Symbol

// of is the pod's UID in a cgroup path, "" where there is none (static pods have a hash there).
func (u uids) of(path Symbol) Symbol {
	uid, ok := cgroupUID(path.Value())
	if !ok {
		return none
	}
	sym, ok := u[string(uid[:])]
	if !ok {
		sym = allocation.Sym(string(uid[:]))
		u[sym.Value()] = sym
	}
	return sym
}

// cgroupUID is the pod's UID in a cgroup path, and whether there is one. Under systemd its dashes are underscores:
//
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2d3c1a_….slice/cri-containerd-….scope
//	/kubepods/burstable/pod0f2d3c1a-…/…
func cgroupUID(path string) (uid [uidLength]byte, ok bool) {
	for {
		i := strings.Index(path, "pod")
		if i < 0 || len(path) < i+len("pod")+uidLength {
			return uid, false
		}
		if uid, ok = parseUID(path[i+len("pod"):]); ok {
			return uid, true
		}
		path = path[i+1:]
	}
}

// parseUID reports whether text, of at least that length, begins with what is written like a UID: 8-4-4-4-12 hexadecimal
// digits. Underscores are as good as dashes.
func parseUID(text string) (uid [uidLength]byte, ok bool) {
	for i := range uid {
		c := text[i]
		if c == '_' {
			c = '-'
		}
		switch i {
		case 8, 13, 18, 23:
			ok = c == '-'
		default:
			ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
		}
		if !ok {
			return uid, false
		}
		uid[i] = c
	}
	return uid, true
}
