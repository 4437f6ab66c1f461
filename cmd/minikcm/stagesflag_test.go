package main

import (
	"strings"
	"testing"
)

// TestStagesWithoutEnd reads a file whose size says nothing.
func TestStagesWithoutEnd(t *testing.T) {
	if _, err := readStages([]string{"/dev/zero"}); err == nil || !strings.Contains(err.Error(), "the file is larger than") {
		t.Errorf("%v", err)
	}
}
