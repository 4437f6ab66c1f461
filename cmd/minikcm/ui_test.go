package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// "up --ui" serves a page that "ui" prints links to, also after a reset.
func TestUI(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	run := func(args ...string) (code int, out string) {
		p := launch(t, home, "run", args...)
		code, out = p.end()
		return code, out + p.stderr.String()
	}
	up, _ := launchUp(t, home, "--ui")
	code, out := run("ui")
	link, one := strings.CutSuffix(out, "\n")
	if code != 0 || !one || !strings.HasPrefix(link, "http://127.0.0.1:") {
		t.Fatalf("ui ends with %d: %s", code, out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(at string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Minikcm-Page", "1")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %d %s, %v", at, resp.StatusCode, data, err)
		}
		return string(data)
	}
	get(link)
	page, _, _ := strings.Cut(link, "/ui/open")
	nodes := page + "/ui/cluster/api/v1/nodes"
	if got := get(nodes); !strings.Contains(got, `"node-0"`) {
		t.Errorf("the nodes are %s", got)
	}
	if code, out := run("reset"); code != 0 {
		t.Fatalf("reset ends with %d: %s", code, out)
	}
	if got := get(nodes); !strings.Contains(got, `"node-0"`) {
		t.Errorf("after the reset, the nodes are %s", got)
	}
	up.stop()
	if message := up.stderr.String(); !strings.Contains(message, "Open the live page at "+page+"/ui/open?token=") {
		t.Errorf("up says %s", message)
	}

	plain, _ := launchUp(t, home)
	if code, out := run("ui"); code != 1 || !strings.Contains(out, `has no page: start it with "minikcm up --ui"`) {
		t.Errorf("without a page, ui ends with %d: %s", code, out)
	}
	plain.stop()
}

func TestUIAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]int{
		"": 0, "127.0.0.1:8081": 8081, "localhost:1": 1,
		"0.0.0.0:8081": -1, "127.0.0.1": -1, ":8081": -1, "127.0.0.1:0": -1, "127.0.0.1:65536": -1, "127.0.0.1:http": -1, "[::1]:8081": -1,
	} {
		got, err := uiPort(address)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("uiPort(%q) = %d, %v; want %d", address, got, err, want)
		}
	}
}
