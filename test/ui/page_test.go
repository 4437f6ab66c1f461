package ui

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "save a picture of each view in this folder")

// timeout bounds each wait for something that the page should show.
var timeout = time.Minute

var minikcm string

// TestMain builds minikcm once, of the source that this module is in, unless MINIKCM is the path of
// a built one.
func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "minikcm-ui")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		minikcm = filepath.Join(dir, "minikcm")
		if built := os.Getenv("MINIKCM"); built != "" {
			minikcm = built
		} else if browserPath() != "" {
			build := exec.Command("go", "build", "-o", minikcm, "./cmd/minikcm")
			build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "building minikcm: %v\n%s", err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

func browserPath() string {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// cluster is a running "minikcm up --ui".
type cluster struct {
	t    *testing.T
	home string
	up   *exec.Cmd
}

func start(t *testing.T, args ...string) *cluster {
	t.Helper()
	if browserPath() == "" {
		t.Skip("no browser: install Chromium, or set CHROMIUM to the path of one")
	}
	c := &cluster{t: t, home: t.TempDir()}
	c.up = c.command("up", append([]string{"--ui"}, args...)...)
	stdout, err := c.up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.up.Stderr = &stderr
	if err := c.up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.up.Process.Signal(syscall.SIGTERM)
		if err := c.up.Wait(); err != nil {
			t.Errorf("up ends with %v: %s", err, stderr.String())
		}
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // comes when the cluster is ready
		t.Fatalf("up does not start: %v", err)
	}
	return c
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(minikcm, append([]string{name}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.home, "KUBECONFIG=")
	return cmd
}

// run runs a command on the cluster and returns what it prints.
func (c *cluster) run(stdin, name string, args ...string) string {
	c.t.Helper()
	cmd := c.command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("minikcm %s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// deploy creates a Deployment whose pods have the label app.
func (c *cluster) deploy(name string, replicas int) {
	c.t.Helper()
	c.run(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%[1]q},"spec":{"replicas":%[2]d,"selector":{"matchLabels":{"app":%[1]q}},
		"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"c","image":"nginx","resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}}}`, name, replicas),
		"kubectl", "apply", "-f", "-")
}

// page is an open page of a cluster.
type page struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	// refused are the requests of which the browser's console says that they failed.
	refused []string
}

// refusals returns the requests of which the browser's console says that they failed.
func (p *page) refusals() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// open opens the page in a new browser. What the browser reports as an error fails the test.
func (c *cluster) open(width, height int64) *page {
	c.t.Helper()
	return c.visit(width, height, c.run("", "ui"))
}

// visit is open with a link, and further options of the browser.
func (c *cluster) visit(width, height int64, link string, options ...chromedp.ExecAllocatorOption) *page {
	c.t.Helper()
	opts := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{chromedp.ExecPath(browserPath()), chromedp.NoSandbox}, options)
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(allocator)
	p := &page{t: c.t, ctx: ctx}
	c.t.Cleanup(func() {
		stop()
		stopAllocator()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			c.t.Errorf("the browser reports: %s", problem)
		}
	})
	chromedp.ListenTarget(ctx, func(event any) {
		problem := ""
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			problem = e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			if e.Entry.Source == log.SourceNetwork {
				p.mu.Lock()
				p.refused = append(p.refused, e.Entry.URL+": "+e.Entry.Text)
				p.mu.Unlock()
			}
			if e.Entry.Source == log.SourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
				problem = e.Entry.Text
			}
		}
		if problem != "" {
			p.mu.Lock()
			p.problems = append(p.problems, problem)
			p.mu.Unlock()
		}
	})
	p.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(link))
	p.until(`document.querySelector("[role=status]")?.textContent === "live"`)
	return p
}

func (p *page) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	if err := chromedp.Run(p.first(ctx), actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.text())
	}
}

// first makes sure that the browser is started with a context that is not canceled after the
// first action.
func (p *page) first(ctx context.Context) context.Context {
	_ = chromedp.Run(p.ctx)
	return ctx
}

func (p *page) text() (text string) {
	_ = chromedp.Run(p.ctx, chromedp.Evaluate(`document.body.innerText`, &text))
	return text
}

// errNavigated is the browser's error for a script whose page is replaced, as a link's is by the
// page that it leads to.
var errNavigated error = &cdproto.Error{Code: -32000}

func isNavigated(err error) bool {
	var known *cdproto.Error
	return errors.As(err, &known) && known.Code == -32000
}

// until waits until an expression is true.
func (p *page) until(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	err := errNavigated
	for isNavigated(err) {
		err = chromedp.Run(p.first(ctx), chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(timeout)))
	}
	if err != nil {
		p.t.Fatalf("waiting for %s: %v\nthe page shows\n%s", expression, err, p.text())
	}
}

// shows waits until an element contains a text.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))`, selector, text))
}

func (p *page) press(button string) {
	p.t.Helper()
	p.do(chromedp.Click(fmt.Sprintf(`//button[normalize-space()=%q]`, button), chromedp.BySearch))
}

func (p *page) value(expression string) (n float64) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &n))
	return n
}

// save saves a picture, if the flag says so. Moves end before it is taken.
func (p *page) save(name string) {
	p.t.Helper()
	if *screenshots == "" {
		return
	}
	var png []byte
	p.do(chromedp.Sleep(time.Second), chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func scheme(dark bool) chromedp.Action {
	value := "light"
	if dark {
		value = "dark"
	}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}})
}

// fps measures the frames of the page a second.
func (p *page) fps() (rate float64) {
	p.t.Helper()
	p.do(chromedp.Evaluate(frames, &rate, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return rate
}
