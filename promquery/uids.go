package promquery

import "strings"

// uidLength is the length of a UID in text.
const uidLength = 36

// PodUID is the pod's UID in a cgroup path, and whether there is one: static pods have a hash there. Under systemd its dashes are
// underscores:
//
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2d3c1a_….slice/cri-containerd-….scope
//	/kubepods/burstable/pod0f2d3c1a-…/…
func PodUID(path string) (uid [uidLength]byte, ok bool) {
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

// parseUID reports whether text, which has at least that length, begins with a UID: 8-4-4-4-12 hexadecimal digits. The separators
// are dashes or underscores.
func parseUID(text string) (uid [uidLength]byte, ok bool) {
	copy(uid[:], text)
	separators := [...]int{8, 13, 18, 23}
	for _, i := range separators {
		if uid[i] != '-' && uid[i] != '_' {
			return uid, false
		}
		uid[i] = '0' // for now
	}
	other := uint32(0) // what is no digit sets its highest bit. A branch for each digit would often be mispredicted.
	for _, c := range uid {
		other |= ^((uint32(c-'0') - 10) | (uint32((c|0x20)-'a') - 6))
	}
	for _, i := range separators {
		uid[i] = '-'
	}
	return uid, other>>31 == 0
}
