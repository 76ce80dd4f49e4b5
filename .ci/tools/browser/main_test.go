package browser_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var (
	shots      = flag.String("shots", "", "directory for screenshots; by default none are taken")
	historyDir = flag.String("history.dir", "", "directory of the history of 10,000 containers that BenchmarkExplorer reads")
)

// skipped is why nothing can be tested, if so.
var skipped string

// browser is the context of the one Chromium. Each test has a tab of its own.
var browser context.Context

// binary is the program that is tested.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	chromium, err := exec.LookPath(named("CHROMIUM", "chromium"))
	if err != nil {
		skipped = "Chromium is not installed: install it, or name it with CHROMIUM=…"
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return failed("make a directory", err)
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("PROMCOST"); binary == "" {
		binary = filepath.Join(dir, "promcost")
		build := exec.Command("go", "build", "-tags", "disable_grpc_modules", "-o", binary, "./cmd/promcost")
		build.Dir = "../../.."
		if text, err := build.CombinedOutput(); err != nil {
			return failed("build promcost: "+string(text), err)
		}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(filepath.Join(dir, "profile")))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil { // starts it
		return failed("start "+chromium, err)
	}
	defer stopServers()
	return m.Run()
}

func failed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return 1
}

// named is the value of an environment variable, or a default.
func named(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

// patience is how long a test waits for what the page is to show.
const patience = 2 * time.Minute
