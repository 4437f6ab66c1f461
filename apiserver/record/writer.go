package record

import (
	"slices"
	"strings"
)

// Writer names the program that made the write: a part of the cluster (a controller,
// scheduler, kubelet) by its own name, any other client by its program's name, and a
// client without a user agent by its user. It is at most maxProgram characters long.
func (w *Write) Writer() string {
	if name, ok := partOf(w.UserAgent); ok {
		return strings.TrimPrefix(name, "default-")
	}
	if name := programOf(w.UserAgent); name != "" {
		return name
	}
	return w.Actor
}

// own reports whether a part of the cluster made the write.
func (w *Write) own() bool {
	_, ok := partOf(w.UserAgent)
	return ok
}

// byHand reports whether the client is a tool that acts when a person or a script
// tells it to. Its writes begin chains of causes. Other programs may be controllers.
func (w *Write) byHand() bool {
	name := strings.ToLower(w.Writer())
	return name == "" || slices.Contains(handTools, name) ||
		slices.ContainsFunc(handPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// partPrefix begins the user agents of the cluster's parts: minikcm/NAME.
const partPrefix = "minikcm/"

// partOf is the name of a cluster's part. A client-go program called minikcm sends
// minikcm/VERSION (OS/ARCH) kubernetes/COMMIT by default, which names no part.
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

// maxProgram bounds a program's name, as user agents come from outside.
const maxProgram = 60

// commit comes before the component's name in a user agent of client-go:
// PROGRAM/VERSION (OS/ARCH) kubernetes/COMMIT/COMPONENT.
const commit = ") kubernetes/"

// programOf is the program that a user agent names, with its component if it says one;
// empty if it says nothing.
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

// programNames are the names of programs and libraries whose user agents begin with
// another one, in lower case.
var programNames = map[string]string{
	"helm":              "helm",
	"go-http-client":    "Go program",
	"openapi-generator": "OpenAPI client",
	"postmanruntime":    "Postman",
	"python-requests":   "Python program",
	"python-urllib":     "Python program",
	"hashicorp":         "Terraform",
}

// browsers are the tokens by which browsers name themselves. Most name others, too:
// the first that is found counts.
var browsers = []struct{ token, name string }{
	{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
}

// anyBrowser is a browser that says nothing else of itself.
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
// begin the names of those that come in several versions.
var (
	handTools = []string{
		"helm", "curl", "wget", "httpie", "postman", "insomnia", "terraform", "kustomize", "kapp", "k9s", "lens", "headlamp", "oc",
		"edge", "opera", "firefox", "chromium", "chrome", "safari", anyBrowser,
	}
	handPrefixes = []string{"kubectl", "minikcm"}
)
