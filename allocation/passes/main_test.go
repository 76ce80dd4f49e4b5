package passes_test

import (
	"os"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

func TestMain(m *testing.M) { os.Exit(soak.Main(m)) }

// randomSeed is the seed of random cases: always the same, or with -soak another one for each run.
func randomSeed() uint64 { return soak.Of(1, uint64(time.Now().UnixNano())) }
