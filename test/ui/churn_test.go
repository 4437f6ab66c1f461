package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

var churn = flag.Duration("churn", 0, "let a page watch rollouts for so long, and compare its heap; 0: skip")

// views are the page's views whose data grows with each event.
var views = []string{"cluster", "timeline", "rollouts", "loop", "why?resource=deployments&namespace=default&name=web"}

// heap returns what the page's scripts hold after a garbage collection, in bytes.
func (p *page) heap() (used float64) {
	p.t.Helper()
	p.do(heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	return used
}

// TestChurn lets a page watch rollouts, one after the other, in each view in turn. What the page
// keeps is full after the first tenth of the time; its heap may then not grow by more than 10 %.
func TestChurn(t *testing.T) {
	if *churn == 0 {
		t.Skip("run with -args -churn 1h")
	}
	c := start(t, "--nodes", "10")
	c.deploy("web", 100)
	// The code that V8 compiles while a page works is on its heap, too, and grows for an hour.
	p := c.visit(1280, 720, c.run("", "ui"), chromedp.Flag("js-flags", "--jitless --no-flush-bytecode"))
	p.do(network.Disable()) // else the browser keeps the requests of an hour for the debugger
	p.until(ready + ` === 100`)
	rounds := 0
	watch := func(d time.Duration) {
		for begun := time.Now(); time.Since(begun) < d; rounds++ {
			p.do(chromedp.Evaluate(fmt.Sprintf("location.hash = %q", views[rounds%len(views)]), nil))
			c.run("", "kubectl", "set", "image", "deploy/web", fmt.Sprintf("c=nginx:%d", rounds))
			c.run("", "kubectl", "rollout", "status", "deploy/web")
			p.do(chromedp.Sleep(5 * time.Second)) // the view shows its end
		}
		p.do(chromedp.Evaluate(`location.hash = "cluster"`, nil))
		p.until(ready + ` === 100`)
		p.do(chromedp.Sleep(5 * time.Second)) // the pods that were replaced are gone, and have left the picture
	}
	var heaps []float64
	for range 10 {
		watch(*churn / 10)
		heaps = append(heaps, p.heap())
		t.Logf("after %d rollouts of 100 pods the heap has %.2f MB, the browser's process %.0f MB", rounds, heaps[len(heaps)-1]/1e6, p.resident()/1e6)
	}
	before, after := heaps[0], heaps[len(heaps)-1]
	if after > 1.1*before {
		t.Errorf("the heap has grown by %.0f %%", 100*(after/before-1))
	}
}

// resident returns the memory of the process that has the page and its worker, in bytes; 0 where
// there is no /proc.
func (p *page) resident() (bytes float64) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		processes, err := systeminfo.GetProcessInfo().Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
		if err != nil {
			return err
		}
		for _, process := range processes {
			if process.Type != "renderer" {
				continue
			}
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process.ID))
			if fields := strings.Fields(string(data)); len(fields) > 1 {
				pages, _ := strconv.ParseFloat(fields[1], 64)
				bytes = max(bytes, pages*float64(os.Getpagesize()))
			}
		}
		return nil
	}))
	return bytes
}
