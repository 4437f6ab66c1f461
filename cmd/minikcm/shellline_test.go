package main

import "testing"

func TestExportLine(t *testing.T) {
	for _, test := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", nil, `export K='/it'\''s'`},
		{"darwin", map[string]string{"PROMPT": "%"}, `export K='/it'\''s'`},
		{"windows", nil, `$env:K = '/it''s'`},
		{"windows", map[string]string{"PROMPT": "$P$G"}, `set "K=/it's"`},
		{"windows", map[string]string{"PROMPT": "$P$G", "SHELL": "/usr/bin/bash"}, `export K='/it'\''s'`},
	} {
		if got := exportLineFor(test.goos, func(name string) string { return test.env[name] }, "K", "/it's"); got != test.want {
			t.Errorf("on %s with %v: %s, want %s", test.goos, test.env, got, test.want)
		}
	}
}
