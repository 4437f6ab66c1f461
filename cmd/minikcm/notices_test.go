package main

import (
	"bytes"
	"errors"
	"testing"
)

func TestNotices(t *testing.T) {
	var out bytes.Buffer
	logger := notices(&out).WithName("apiserver").WithValues("config", "authorization")
	logger.Info("Reloaded a configuration", "file", "authz.yaml")
	logger.Error(errors.New("line 3: no such field"), "Reloading failed", "file", "authz.yaml")
	logger.V(1).Info("A detail")
	notices(&out).Info("Near the memory limit")
	want := `minikcm: Reloaded a configuration (config: authorization, file: authz.yaml)
minikcm: Reloading failed (config: authorization, file: authz.yaml): line 3: no such field
minikcm: Near the memory limit
`
	if out.String() != want {
		t.Errorf("it prints\n%swant\n%s", out.String(), want)
	}
}
