package writerecord

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]struct {
		name        string
		own, byHand bool
	}{
		"minikcm/deployment-controller":                        {"deployment-controller", true, false},
		"minikcm/default-scheduler":                            {"scheduler", true, false},
		"minikcm/v0.0.0 (linux/amd64) kubernetes/$Format":      {"minikcm", false, true},
		"minikcm/unknown (linux/amd64) kubernetes/unknown":     {"minikcm", false, true},
		"minikcm-scenario":                                     {"minikcm-scenario", false, true},
		"kubectl/v1.37.2 (linux/amd64) kubernetes/unknown":     {"kubectl", false, true},
		"kubectl1.32/v1.32.4 (linux/amd64) kubernetes/59526cd": {"kubectl1.32", false, true},
		"kubectl-cnpg/v1.24 (linux/amd64) kubernetes/$Format":  {"kubectl-cnpg", false, true},
		"Helm/3.16.2": {"helm", false, true},
		"curl/8.5.0":  {"curl", false, true},
		"Wget/1.21":   {"Wget", false, true},
		"manager/v0.0.0 (linux/amd64) kubernetes/$Format":                 {"manager", false, false},
		"manager/v0.0.0 (linux/amd64) kubernetes/$Format/leader-election": {"manager/leader-election", false, false},
		"site.test/v0.0.0 (linux/amd64) kubernetes/$Format":               {"site.test", false, false},
		"Go-http-client/2.0":              {"Go program", false, false},
		"OpenAPI-Generator/29.0.0/python": {"OpenAPI client", false, false},
		"HashiCorp/1.0 Terraform/1.9.5":   {"Terraform", false, true},
		"operator":                        {"operator", false, false},
		"":                                {"alice", false, false},
		"/":                               {"alice", false, false},
		"two\nlines\x1b[31m/1":            {"two lines [31m", false, false},
		"kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/59526cd/deployment-controller":                                  {"kube-controller-manager/deployment-controller", false, false},
		"kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/59526cd/system:serviceaccount:kube-system:job-controller":       {"kube-controller-manager/job-controller", false, false},
		"Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0":                                                  {"Firefox", false, true},
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36":                   {"Chrome", false, true},
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36 Edg/129.0.0.0":       {"Edge", false, true},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4.1 Safari/605.1.15": {"Safari", false, true},
		"Mozilla/4.0 (compatible)": {"browser", false, true},
	} {
		w := Write{UserAgent: userAgent, Actor: "alice"}
		if got := w.Writer(); got != want.name || w.own() != want.own || w.byHand() != want.byHand {
			t.Errorf("%q: %q, own %t, by hand %t; want %v", userAgent, got, w.own(), w.byHand(), want)
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("kubectl/v1.37.2 (linux/amd64) kubernetes/unknown")
	f.Add("a/b (c/d) kubernetes/e/f:g")
	f.Fuzz(func(t *testing.T, userAgent string) {
		name := (&Write{UserAgent: userAgent}).Writer()
		if utf8.RuneCountInString(name) > maxProgram || strings.ContainsAny(name, "\n\x1b\x00") {
			t.Errorf("%q is called %q", userAgent, name)
		}
	})
}
