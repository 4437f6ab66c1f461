package main

import (
	"os"
	"strings"
	"testing"
)

// docs/wire.md lists the known differences of known.yaml; "make wire" updates it.
func TestDocs(t *testing.T) {
	list, err := readKnown("known.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := replacePart(string(data), docsKnown, knownTable(list))
	if err != nil {
		t.Fatal(err)
	}
	if want != string(data) {
		if os.Getenv("UPDATE") == "" {
			t.Error("docs/wire.md differs from test/wire/known.yaml: run UPDATE=1 go test ./test/wire")
		} else if err := os.WriteFile("../../docs/wire.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, figures, _ := strings.Cut(string(data), docsFigures)
	if figures, _, _ = strings.Cut(figures, docsEnd); !strings.Contains(figures, "| all | ") {
		t.Error("docs/wire.md has no figures: run make wire")
	}
	if _, err := replacePart("text", docsKnown, ""); err == nil {
		t.Error("a document without the part is no error")
	}
}
