package exchange

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Pair is the two servers that are compared.
type Pair struct{ Upstream, Minikcm *Server }

// Result is the comparison of the answers to one request.
type Result struct {
	// Name is CASE/REQUEST.
	Name string
	// Area is the topic of the case.
	Area string
	// Request shows what was sent upstream.
	Request string
	// Upstream and Minikcm show the answers.
	Upstream, Minikcm string
	Differences       []Difference
	// Setup is whether the answers do not count.
	Setup bool
	// Took is the time of the slower server.
	Took time.Duration
}

// Run sends the requests of a case, one after another, each to both servers at once.
func (p Pair) Run(ctx context.Context, c Case) []Result {
	upstream, minikcm := newSession(p.Upstream), newSession(p.Minikcm)
	results := make([]Result, 0, len(c.Requests))
	for next := 0; next < len(c.Requests); {
		group := c.Requests[next : next+1]
		for group[0].Waits && next+len(group) < len(c.Requests) && c.Requests[next+len(group)].Waits {
			group = c.Requests[next : next+len(group)+1]
		}
		next += len(group)
		toUpstream, toMinikcm := make([]sent, len(group)), make([]sent, len(group))
		var all sync.WaitGroup
		for i := range group {
			all.Go(func() { toUpstream[i] = upstream.send(ctx, &group[i]) })
			all.Go(func() { toMinikcm[i] = minikcm.send(ctx, &group[i]) })
		}
		all.Wait()
		for i := range group {
			r, u, m := &group[i], &toUpstream[i], &toMinikcm[i]
			upstream.read(r, u)
			minikcm.read(r, m)
			results = append(results, Result{
				Name: c.Name + "/" + r.Name, Area: c.Area(), Request: u.request, Upstream: u.show(), Minikcm: m.show(),
				Setup: r.Setup, Took: max(u.took, m.took), Differences: compare(u, m),
			})
		}
	}
	return results
}

// sent is an exchange with one server.
type sent struct {
	request string
	answer  answer
	took    time.Duration
	header  map[string]string
	body    any
}

// send sends a request. It does not change the session.
func (s *session) send(ctx context.Context, r *Request) sent {
	path, header := s.expand(r.Path), maps.Clone(r.Header)
	for name, value := range header {
		header[name] = s.expand(value)
	}
	body, err := s.body(r)
	if err != nil {
		return sent{answer: answer{err: err}}
	}
	elapsed := clock.Stopwatch()
	out := sent{request: showRequest(r.Method, path, header, body), answer: s.server.send(ctx, r.Method, path, body, header)}
	for r.Until != 0 && out.answer.status != r.Until && elapsed() < requestTime {
		<-clock.Real().After(20 * time.Millisecond)
		out.answer = s.server.send(ctx, r.Method, path, body, header)
	}
	out.took = elapsed()
	return out
}

// read keeps an answer for later requests, and replaces what the server chose in it.
func (s *session) read(r *Request, out *sent) {
	s.bodies[r.Name] = out.answer.body
	if out.answer.err != nil {
		return
	}
	tree := out.answer.tree()
	s.learn(tree)
	out.body, out.header = s.normal(tree), s.headers(out.answer.header)
}

// uncompared are headers that depend on the machine or on the length of numbers.
var uncompared = []string{"Date", "Content-Length"}

// present are headers of which only the presence is compared.
var present = []string{"Audit-Id", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", "Etag"}

func (s *session) headers(header http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range header {
		switch {
		case slices.Contains(uncompared, name):
		case slices.Contains(present, name):
			out[name] = "<present>"
		default:
			out[name] = s.replace(strings.Join(values, "\n"))
		}
	}
	return out
}

func compare(upstream, minikcm *sent) (found []Difference) {
	if upstream.answer.err != nil || minikcm.answer.err != nil {
		a, b := errorText(upstream.answer.err), errorText(minikcm.answer.err)
		if a != b {
			return []Difference{{"connection", a, b}}
		}
		return nil
	}
	if a, b := upstream.answer.status, minikcm.answer.status; a != b {
		found = append(found, Difference{"status", fmt.Sprint(a), fmt.Sprint(b)})
	}
	names := map[string]bool{}
	for name := range upstream.header {
		names[name] = true
	}
	for name := range minikcm.header {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, inA := upstream.header[name]
		b, inB := minikcm.header[name]
		if !inA {
			a = absent
		}
		if !inB {
			b = absent
		}
		if a != b {
			found = append(found, Difference{"header " + name, a, b})
		}
	}
	return diff("", upstream.body, minikcm.body, found)
}

// errorText describes a failed exchange without addresses.
func errorText(err error) string {
	if err == nil {
		return "an answer"
	}
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	return text
}

// maxShown limits the length of bodies in reports.
const maxShown = 4000

func showRequest(method, path string, header map[string]string, body string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", method, path)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&out, "%s: %s\n", name, header[name])
	}
	if body != "" {
		fmt.Fprintf(&out, "\n%s\n", shorten(body))
	}
	return out.String()
}

func (s *sent) show() string {
	if s.answer.err != nil {
		return s.answer.err.Error() + "\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", s.answer.status)
	for _, name := range slices.Sorted(maps.Keys(s.header)) {
		fmt.Fprintf(&out, "%s: %s\n", name, s.header[name])
	}
	if s.body != nil {
		text, ok := s.body.(string)
		if !ok {
			text = encode(s.body)
		}
		fmt.Fprintf(&out, "\n%s\n", shorten(text))
	}
	return out.String()
}

func shorten(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + fmt.Sprintf("... (%d bytes)", len(text))
	}
	return text
}
