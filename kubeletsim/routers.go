package kubeletsim

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Forward lets the router at the end of a path answer a request. It calls send for each attempt to get an answer of a server.
func (k *network) Forward(path *reach.Path, w http.ResponseWriter, r *http.Request, send Sender) {
	if path.Listener.TLS && secure.Refuse(w, r) {
		return
	}
	request := &routes.Request{
		Host: routes.HostOf(r.Host), Path: r.URL.Path, Method: r.Method, Header: r.Header, Query: r.URL.Query(), Port: path.Frontend.Port.Port,
	}
	if r.TLS != nil {
		request.ServerName = routes.HostOf(r.TLS.ServerName)
	}
	d, err := k.fabric.Forward(r.Context(), path, request, 0)
	if err != nil {
		http.Error(w, "minikcm: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	for _, mirror := range d.Mirrors {
		out := forwarded(path, mirror, r, d, request)
		out.Body = http.NoBody
		k.serve(mirror, discarded{http.Header{}}, out)
	}
	switch {
	case d.Rule != nil && d.Rule.Filters.Redirect != nil:
		redirect(answering(w, d), r, path, d.Rule, request)
	case d.Next == nil:
		refuse(w, d.Status, d.Why)
	default:
		f := &routing{k: k, path: path, request: request, send: send}
		f.answer(w, r, d)
	}
}

// redirect answers with the redirect of a rule.
func redirect(w http.ResponseWriter, r *http.Request, path *reach.Path, rule *routes.Rule, request *routes.Request) {
	to := rule.Filters.Redirect
	location := to.Location(rule, request, schemeOf(path))
	if r.URL.RawQuery != "" {
		location += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", location)
	w.WriteHeader(to.Status)
}

// schemeOf returns the scheme of URLs that lead to the end of a path.
func schemeOf(path *reach.Path) string {
	if path.Listener.TLS {
		return "https"
	}
	return "http"
}

// forwarded returns the request that a router sends to a server.
func forwarded(path, next *reach.Path, r *http.Request, d *reach.Forwarded, request *routes.Request) *http.Request {
	out := r.Clone(r.Context())
	out.TLS = nil
	if out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/1.1", 1, 1; d.HTTP2 {
		out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/2.0", 2, 0
	}
	client := path.Source.Address.String()
	out.RemoteAddr = netip.AddrPortFrom(next.Source.Address, 32768+uint16(len(client)+len(r.Host))).String()
	for name, value := range map[string]string{
		"X-Real-Ip": client, "X-Forwarded-For": client, "X-Forwarded-Host": r.Host, "X-Forwarded-Proto": schemeOf(path),
		"X-Forwarded-Port": strconv.Itoa(int(path.Target.Port())),
	} {
		out.Header.Set(name, value)
	}
	change(out.Header, &d.Rule.Filters.Request)
	if d.Backend != nil {
		change(out.Header, &d.Backend.Filters.Request)
	}
	if rewrite := d.Rule.Filters.Rewrite; rewrite != nil {
		if rewrite.Host != "" {
			out.Host = rewrite.Host
		}
		out.URL.Path, out.URL.RawPath = rewrite.Path.Apply(d.Rule, request.Path), ""
		out.RequestURI = out.URL.RequestURI()
	}
	return out
}

// change changes headers.
func change(h http.Header, by *routes.Headers) {
	for _, v := range by.Set {
		h.Set(v.Name, v.Value)
	}
	for _, v := range by.Add {
		h.Add(v.Name, v.Value)
	}
	for _, name := range by.Remove {
		h.Del(name)
	}
}

// discarded is the writer of an answer that no client gets.
type discarded struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d discarded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (discarded) Write(data []byte) (int, error) { return len(data), nil }

// WriteHeader implements http.ResponseWriter.
func (discarded) WriteHeader(int) {}

// Abort ends the connection to a mirror.
func (discarded) Abort(bool) {}

// answering returns the writer that changes the headers of an answer as the rule says.
func answering(w http.ResponseWriter, d *reach.Forwarded) http.ResponseWriter {
	all := []*routes.Headers{&d.Rule.Filters.Response}
	if d.Backend != nil {
		all = append(all, &d.Backend.Filters.Response)
	}
	all = slices.DeleteFunc(all, func(h *routes.Headers) bool { return len(h.Set)+len(h.Add)+len(h.Remove) == 0 })
	if len(all) == 0 {
		return w
	}
	return &changed{ResponseWriter: w, by: all}
}

// changed changes the headers of an answer.
type changed struct {
	http.ResponseWriter
	by   []*routes.Headers
	done bool
}

// WriteHeader implements http.ResponseWriter.
func (c *changed) WriteHeader(status int) {
	if !c.done && status >= http.StatusOK {
		c.done = true
		for _, by := range c.by {
			change(c.Header(), by)
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *changed) Write(data []byte) (int, error) {
	if !c.done {
		c.WriteHeader(http.StatusOK)
	}
	return c.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (c *changed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// forward answers a request of a program in a container at a router.
func (k *network) forward(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	k.Forward(path, w, r, func(next *reach.Path, w http.ResponseWriter, out *http.Request) {
		k.serve(next, w, out)
		if next.Listener.Unknown && r.Method != http.MethodHead {
			_, _ = w.Write([]byte(unknown.Line)) // the program's memory has a limit, which it notices
		}
	})
}

// RouterCertificate returns the certificate that the router at the end of a path presents for a host: the one in the first Secret that has
// one, or else one that no client trusts.
func (k *network) RouterCertificate(ctx context.Context, path *reach.Path, host string) (*tls.Certificate, error) {
	return k.fabric.Certificate(ctx, *path.Router, routes.HostOf(host), path.Frontend.Port.Port)
}
