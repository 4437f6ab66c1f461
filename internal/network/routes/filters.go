package routes

import (
	"fmt"
	"strings"
)

// Filters change requests and answers.
type Filters struct {
	Request, Response Headers
	// Redirect answers requests in place of a backend.
	Redirect *Redirect
	Rewrite  *Rewrite
	// Mirrors get copies of requests.
	Mirrors []Mirror
}

// Mirror gets copies of Part of Of requests.
type Mirror struct {
	Backend
	Part, Of uint64
}

// Chosen reports whether the mirror gets a copy of the request with a random number.
func (m *Mirror) Chosen(random uint64) bool { return (random>>32)%m.Of < m.Part }

// Headers change headers.
type Headers struct {
	Set, Add []Value
	Remove   []string
}

// PathChange replaces a path, or the prefix that a rule has matched; nil changes nothing.
type PathChange struct {
	Prefix bool
	To     string
}

// Apply returns the changed path of a request that a rule matches.
func (c *PathChange) Apply(rule *Rule, path string) string {
	if c == nil {
		return path
	}
	if !c.Prefix {
		return c.To
	}
	rest := strings.TrimPrefix(path, elements(rule.Path))
	if rest == "" || c.To == "" {
		return "/" + strings.TrimPrefix(c.To+rest, "/")
	}
	return strings.TrimSuffix(c.To, "/") + "/" + strings.TrimPrefix(rest, "/")
}

// Rewrite changes the host, unless it is empty, and the path of a request.
type Rewrite struct {
	Host string
	Path *PathChange
}

// Redirect sends clients elsewhere. What is empty stays as in the request.
type Redirect struct {
	Scheme, Host string
	Port         int32
	Path         *PathChange
	Status       int
}

// Location returns the URL of a redirect, without the query, for a request with a scheme.
func (d *Redirect) Location(rule *Rule, r *Request, scheme string) string {
	host, port := r.Host, d.Port
	if d.Host != "" {
		host = d.Host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	usual := map[string]int32{"http": HTTPPort, "https": HTTPSPort}
	if port == 0 && d.Scheme == "" {
		port = r.Port
	}
	if d.Scheme != "" {
		scheme = d.Scheme
	}
	if port != 0 && port != usual[scheme] {
		host = fmt.Sprintf("%s:%d", host, port)
	}
	return scheme + "://" + host + d.Path.Apply(rule, r.Path)
}
