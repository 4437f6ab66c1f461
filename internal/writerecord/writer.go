package writerecord

import (
	"slices"
	"strings"
)

// Writer returns the name of the program that made the write: a component of the
// cluster (a controller, scheduler, kubelet) by its own name, any other client by its
// program's name, and a client without a user agent by its user. It has at most
// maxProgram characters.
func (w *Write) Writer() string {
	if name, ok := partOf(w.UserAgent); ok {
		return strings.TrimPrefix(name, "default-")
	}
	if name := programOf(w.UserAgent); name != "" {
		return name
	}
	return w.Actor
}

// own reports whether a component of the cluster made the write.
func (w *Write) own() bool {
	_, ok := partOf(w.UserAgent)
	return ok
}

// byHand reports whether the client is a tool that a person or a script runs. Its
// writes are the origin of chains of causes. Other programs may be controllers.
func (w *Write) byHand() bool {
	name := strings.ToLower(w.Writer())
	return name == "" || slices.Contains(handTools, name) ||
		slices.ContainsFunc(handPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// partPrefix is the prefix of the user agents of the cluster's components:
// minikcm/NAME.
const partPrefix = "minikcm/"

// partOf returns the name of the cluster's component. A client-go program called
// minikcm sends minikcm/VERSION (OS/ARCH) kubernetes/COMMIT by default, which is not a
// component.
func partOf(userAgent string) (name string, ok bool) {
	name, ok = strings.CutPrefix(userAgent, partPrefix)
	if !ok || name == "" || len(name) > maxProgram {
		return "", false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "", false
		}
	}
	return name, true
}

// maxProgram limits the length of a program's name, because user agents come from
// outside.
const maxProgram = 60

// commit precedes the component's name in a user agent of client-go: PROGRAM/VERSION
// (OS/ARCH) kubernetes/COMMIT/COMPONENT.
const commit = ") kubernetes/"

// programOf returns the program that a user agent names, with its component if there is
// one; empty if it names none.
func programOf(userAgent string) string {
	name, rest, _ := strings.Cut(userAgent, "/")
	name = strings.TrimSpace(name)
	if name == "Mozilla" {
		return browserOf(rest)
	}
	if known, ok := programNames[strings.ToLower(name)]; ok {
		name = known
	}
	if _, after, ok := strings.Cut(rest, commit); ok {
		if _, component, ok := strings.Cut(after, "/"); ok && component != "" {
			// A service account's name stands for the component that uses it.
			name += "/" + component[strings.LastIndexByte(component, ':')+1:]
		}
	}
	return shortened(name, maxProgram)
}

// programNames are the programs and libraries whose user agents start with another
// name, by that name in lower case.
var programNames = map[string]string{
	"helm":              "helm",
	"go-http-client":    "Go program",
	"openapi-generator": "OpenAPI client",
	"postmanruntime":    "Postman",
	"python-requests":   "Python program",
	"python-urllib":     "Python program",
	"hashicorp":         "Terraform",
}

// browsers are the tokens by which browsers identify themselves. Most include the
// tokens of others, so the order matters.
var browsers = []struct{ token, name string }{
	{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
}

// anyBrowser is the name of an unknown browser.
const anyBrowser = "browser"

func browserOf(userAgent string) string {
	for _, b := range browsers {
		if strings.Contains(userAgent, b.token) {
			return b.name
		}
	}
	return anyBrowser
}

// handTools are the programs that people and scripts use, in lower case; handPrefixes
// are prefixes of such names with several variants.
var (
	handTools = []string{
		"helm", "curl", "wget", "httpie", "postman", "insomnia", "terraform", "kustomize", "kapp", "k9s", "lens", "headlamp", "oc",
		"edge", "opera", "firefox", "chromium", "chrome", "safari", anyBrowser,
	}
	handPrefixes = []string{"kubectl", "minikcm"}
)
