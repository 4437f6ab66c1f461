package main

import (
	"os"
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/test/wire/exchange"
)

func TestKnownFile(t *testing.T) {
	if _, err := readKnown("known.yaml"); err != nil {
		t.Error(err)
	}
}

func TestKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{requests: "pods.*", fields: "status", reason: r}]`)
	list, err := readKnown(file)
	if err != nil {
		t.Fatal(err)
	}
	different := exchange.Difference{Field: "status", Upstream: "200", Minikcm: "404"}
	if find(list, "pods.v1/life/get", different) == nil || find(list, "a pods", different) != nil || find(list, "pods", exchange.Difference{Field: "statuses"}) != nil {
		t.Error("an entry matches whole names of requests and whole paths of fields")
	}
	r := newReport(list)
	r.add(exchange.Result{Area: "x", Name: "pods/x/y", Differences: []exchange.Difference{different}})
	if err := r.err(true); err != nil {
		t.Errorf("a known difference: %v", err)
	}
	r.add(exchange.Result{Area: "x", Name: "pods/x/z", Differences: []exchange.Difference{different, {Field: ".kind"}}})
	if r.err(true) == nil {
		t.Error("another difference is no error")
	}
	r = newReport(list)
	list[0].met = 0
	if r.err(true) == nil || r.err(false) != nil {
		t.Error("a known difference that was not met is an error only of whole runs")
	}
	if list[0].Sometimes = true; r.err(true) != nil {
		t.Error("a difference that comes sometimes has to be met")
	}
	for _, bad := range []string{`[{requests: "(", fields: x, reason: r}]`, `[{requests: x, fields: x}]`, `[{request: x}]`, `{`} {
		write(bad)
		if _, err := readKnown(file); err == nil {
			t.Errorf("%s is no error", bad)
		}
	}
}
