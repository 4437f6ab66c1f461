package kubeletsim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Forward lets the router at the end of a path forward a request. It returns the path to a server and the request to send there, or nil
// after it has answered.
func (k *Kubelets) Forward(path *reach.Path, w http.ResponseWriter, r *http.Request) (*reach.Path, *http.Request) {
	if path.Listener.TLS && secure.Refuse(w, r) {
		return nil, nil
	}
	d, err := k.fabric.Forward(r.Context(), path, &routes.Request{Host: routes.HostOf(r.Host), Path: r.URL.Path})
	switch {
	case err != nil:
		http.Error(w, "minikcm: "+err.Error(), http.StatusServiceUnavailable)
		return nil, nil
	case d.Status != 0:
		http.Error(w, fmt.Sprintf("minikcm: %s: %s", routes.StatusText(d.Status), d.Why), d.Status)
		return nil, nil
	}
	return d.Next, forwarded(path, d.Next, r)
}

// forwarded returns the request that a router sends to a server.
func forwarded(path, next *reach.Path, r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.TLS = nil
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || path.Source.Address.IsValid() {
		client = path.Source.Address.String()
	}
	out.RemoteAddr = netip.AddrPortFrom(next.Source.Address, 32768+uint16(len(client)+len(r.Host))).String()
	proto := "http"
	if path.Listener.TLS {
		proto = "https"
	}
	for name, value := range map[string]string{
		"X-Real-Ip": client, "X-Forwarded-For": client, "X-Forwarded-Host": r.Host, "X-Forwarded-Proto": proto,
		"X-Forwarded-Port": strconv.Itoa(int(path.Target.Port())),
	} {
		out.Header.Set(name, value)
	}
	return out
}

// forward answers a request of a program in a container at a router.
func (k *Kubelets) forward(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	next, out := k.Forward(path, w, r)
	switch {
	case next == nil:
	case next.Outcome != reach.Connected:
		http.Error(w, "minikcm: 502 Bad Gateway: "+next.Why, http.StatusBadGateway)
	default:
		k.serve(next, w, out)
		if next.Listener.Unknown && r.Method != http.MethodHead {
			_, _ = w.Write([]byte(unknown.Line)) // the program's memory has a limit, which it notices
		}
	}
}

// Certificates returns the names of the Secrets that may have the certificate of the router at the end of a path for a host, the preferred
// one first.
func (k *Kubelets) Certificates(ctx context.Context, path *reach.Path, host string) ([]types.NamespacedName, error) {
	return k.fabric.Certificates(ctx, *path.Router, routes.HostOf(host))
}
