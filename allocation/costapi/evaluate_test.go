package costapi_test

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// large is an expression that takes long: texts are quoted over and over.
func large() string {
	many := "[" + strings.Repeat("@,", 9) + "@]"
	return "'a'" + strings.Repeat(" | to_string("+many+")", 5) + " | [*].length(@) || [length(@)" + strings.Repeat(", length(to_string(`[1,2,3]`))", 500) + "]"
}

// evaluating is how many goroutines evaluate an expression.
func evaluating() int {
	b := make([]byte, 4<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "jmespath.(*Expression).Search(")
}

// TestEvaluationsAtATime asks for many evaluations at once: a few are made at a time, whatever memory all would take.
func TestEvaluationsAtATime(t *testing.T) {
	const requests = 24
	h := newHandler(&fake{}, costapi.Config{})
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			if w := get(h, "/model/getConfigs", "jmespath="+large()); w.Code != http.StatusOK {
				t.Errorf("status %d: %.300s", w.Code, w.Body)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	most := 0
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default:
			most = max(most, evaluating())
			runtime.Gosched()
		}
	}
	if room := min(max(1, runtime.GOMAXPROCS(0)/2), 4); most > room {
		t.Errorf("%d evaluations at a time, want at most %d", most, room)
	}
}

// TestDeadlineOfAnEvaluation checks that the error says that the expression takes too long.
func TestDeadlineOfAnEvaluation(t *testing.T) {
	h := newHandler(&fake{}, costapi.Config{EvaluationTimeout: time.Nanosecond})
	checkError(t, get(h, "/model/getConfigs", "jmespath=@"), http.StatusBadRequest, "parameter jmespath=@: evaluation takes longer than 1ns: select less before")
}
