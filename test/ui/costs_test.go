package ui

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var costs = flag.Bool("costs", false, "measure what pages cost the server")

// ticksPerSecond is the unit of /proc/PID/stat on Linux.
const ticksPerSecond = 100

// cpu returns the processor time that "up" has used, in seconds.
func (c *cluster) cpu() float64 {
	c.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.up.Process.Pid))
	if err != nil {
		c.t.Skip("processor time is read from /proc")
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

// load returns the share of a core that "up" uses for half a minute.
func (c *cluster) load() float64 {
	c.t.Helper()
	const seconds = 30
	before := c.cpu()
	time.Sleep(seconds * time.Second)
	return (c.cpu() - before) / seconds
}

// rollout creates a Deployment of 2,000, returns how long it takes until all are available, and
// deletes it.
func (c *cluster) rollout(name string) time.Duration {
	c.t.Helper()
	begun := time.Now()
	c.deploy(name, 2000)
	c.run("", "kubectl", "wait", "--for=condition=Available", "--timeout=5m", "deploy/"+name)
	took := time.Since(begun)
	c.run("", "kubectl", "delete", "deploy", name, "--cascade=foreground")
	c.run("", "kubectl", "wait", "--for=delete", "--timeout=5m", "pods", "-l", "app="+name)
	return took
}

// watchAs opens the watches that a page has in the Cluster view, and discards what arrives until
// ctx ends: what a page does with it is not the server's cost.
func (c *cluster) watchAs(ctx context.Context, link string) {
	c.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	base, err := url.Parse(link)
	if err != nil {
		c.t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(address string, headers map[string]string) *http.Response {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil || response.StatusCode >= http.StatusMultipleChoices {
			c.t.Fatalf("%s: %v, %v", address, response, err)
		}
		return response
	}
	_ = get(link, nil).Body.Close() // sets the cookie
	for _, plural := range []string{"pods", "nodes"} {
		var list struct {
			Metadata struct{ ResourceVersion string }
		}
		response := get("http://"+base.Host+"/ui/cluster/api/v1/"+plural+"?limit=1", map[string]string{"X-Minikcm-Page": "1"})
		if err := errors.Join(json.NewDecoder(response.Body).Decode(&list), response.Body.Close()); err != nil {
			c.t.Fatal(err)
		}
		response = get("http://"+base.Host+"/ui/shared/api/v1/"+plural+"?resourceVersion="+list.Metadata.ResourceVersion, map[string]string{
			"Origin": "http://" + base.Host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Extensions": "permessage-deflate",
		})
		if response.StatusCode != http.StatusSwitchingProtocols {
			c.t.Fatalf("the watch of %s is answered with %s", plural, response.Status)
		}
		go func() {
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
		}()
	}
}

// TestCosts measures how soon a page shows its cluster, what an idle page costs, and how much
// longer a rollout takes while a hundred pages watch it: the median of five in turn with five
// others, since a rollout alone takes between 1.7 and 2.6 s.
func TestCosts(t *testing.T) {
	if !*costs {
		t.Skip("run with -args -costs, on a machine that does nothing else")
	}
	c := start(t, "--nodes", "20")
	c.deploy("web", 100)
	c.run("", "kubectl", "wait", "--for=condition=Available", "deploy/web")
	alone := c.load()
	p := c.open(1280, 720)
	p.until(ready + ` === 100`)
	var first float64
	p.do(chromedp.Reload())
	p.until(ready + ` === 100`)
	p.do(chromedp.Evaluate(`performance.now()`, &first))
	t.Logf("a page with 100 pods is there %.0f ms after the navigation at the latest", first)
	t.Logf("an idle page takes %.2f %% of a core (%.2f %% with it, %.2f %% without)", 100*(c.load()-alone), 100*c.load(), 100*alone)
	p.do(chromedp.Navigate("about:blank"))
	c.rollout("warm")
	const rounds = 5
	var without, with []time.Duration
	for range rounds {
		without = append(without, c.rollout("without"))
		ctx, end := context.WithCancel(t.Context())
		for range 100 {
			c.watchAs(ctx, c.run("", "ui"))
		}
		with = append(with, c.rollout("with"))
		end()
	}
	slices.Sort(without)
	slices.Sort(with)
	t.Logf("rollouts of 2,000 take %v, and %v while 100 pages watch them: %.0f %% longer in the median",
		without, with, 100*(with[rounds/2].Seconds()/without[rounds/2].Seconds()-1))
}
