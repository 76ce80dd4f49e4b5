package history_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// takeBills takes in what is delivered in the folder from of a directory, into its folder store.
func takeBills(dir string) error {
	b, err := history.OpenDirectory(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	n, err := newBillIntake(history.New(b, history.Options{Keep: time.Nanosecond}).Bills(), filepath.Join(dir, "from"))
	if err != nil {
		return err
	}
	return n.Look(context.Background())
}

// TestKillTakingBills kills processes that take in deliveries. Each statement stays that of one delivery, whole, and a process that is
// not killed completes what others began.
func TestKillTakingBills(t *testing.T) {
	rng := rand.New(rand.NewPCG(*crashSeed, 1))
	dir, killed := t.TempDir(), 0
	accounts, has := [...]string{"payer/%", "other"}, map[string]float64{}
	for i := range soak.Of(10, 200) {
		rows := make([]float64, 28)
		for k := range rows {
			rows[k] = float64(i + 1)
		}
		text := billRows(rows...)
		putBill(t, dir, "from/oct/1.csv", text+strings.ReplaceAll(text[len(billHeader):], "payer/%", "other"), i)
		for attempt := range 4 {
			cmd, _ := child(t, "takebills", dir)
			if attempt < 3 {
				time.AfterFunc(time.Duration(rng.IntN(250_000))*time.Microsecond, func() { _ = cmd.Process.Kill() }) // it may have ended
			}
			err := cmd.Wait()
			if err != nil {
				killed++
			}
			if code := cmd.ProcessState.ExitCode(); code == 3 || attempt == 3 && err != nil {
				t.Fatalf("it failed: %v", err)
			}
			for account, got := range soundBills(t, dir) {
				if now := float64(28 * (i + 1)); got != now && got != has[account] {
					t.Fatalf("delivery %d: account %s costs %v, want %v or %v", i, account, got, has[account], now)
				}
				has[account] = got
			}
		}
		for _, account := range accounts {
			if want := float64(28 * (i + 1)); has[account] != want {
				t.Fatalf("delivery %d: account %s costs %v in the end, want %v", i, account, has[account], want)
			}
		}
	}
	t.Logf("%s processes were killed", strconv.Itoa(killed))
}

// soundBills verifies the statements of a directory, and returns their costs by account.
func soundBills(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	b, err := history.OpenDirectory(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	bills := history.New(b, history.Options{}).Bills()
	list, damaged, err := bills.List(t.Context())
	if err != nil || len(damaged) > 0 {
		t.Fatalf("%v is damaged, %v", damaged, err)
	}
	costs := map[string]float64{}
	for i := range list {
		if err := bills.Verify(t.Context(), &list[i]); err != nil {
			t.Fatal(err)
		}
		costs[list[i].Account] = list[i].Totals[0].Costs[0]
	}
	return costs
}
