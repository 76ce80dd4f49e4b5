package webserver

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
)

// maxProfileSeconds is how long a profile may be taken.
const maxProfileSeconds = 300

// Profiles serves the profiles of /debug/pprof/, one at a time.
type Profiles struct{ taking sync.Mutex }

// Routes are the handlers by path.
func (p *Profiles) Routes() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/": bounded(p.alone(pprof.Index)), "/debug/pprof/cmdline": bounded(pprof.Cmdline), "/debug/pprof/symbol": bounded(pprof.Symbol),
		"/debug/pprof/profile": bounded(p.alone(pprof.Profile)), "/debug/pprof/trace": bounded(p.alone(pprof.Trace)),
	}
}

// bounded refuses profiles that would take too long.
func bounded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text := r.FormValue("seconds"); text != "" {
			if s, err := strconv.ParseFloat(text, 64); err != nil || !(s > 0 && s <= maxProfileSeconds) {
				Text(w, http.StatusBadRequest, fmt.Sprintf("parameter seconds=%.100q: give a number above 0, at most %d", text, maxProfileSeconds))
				return
			}
		}
		next(w, r)
	}
}

// alone refuses a profile while another one is taken. The runtime takes one of the processor at a time, and each of the heap takes
// tens of megabytes.
func (p *Profiles) alone(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !p.taking.TryLock() {
			Text(w, http.StatusServiceUnavailable, "another profile or trace is being taken: ask again once it has ended")
			return
		}
		defer p.taking.Unlock()
		next(w, r)
	}
}
