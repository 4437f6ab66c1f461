package containers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

const (
	// maxProbedBody bounds the bytes that a probe reads of a response.
	maxProbedBody = 10 << 10
	// maxProbeRedirects bounds the redirects that a probe follows.
	maxProbeRedirects = 10
	probeUserAgent    = servers.UserAgent
)

// probeOut asks a process outside of the cluster, at its address, in place of the container. The
// probe's timeout is in real time, as for all connections that leave the process: virtual time
// stands still meanwhile.
func (in *Ref) probeOut(ctx context.Context, address string, probe *corev1.Probe, found answers) {
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	probed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	why := ""
	switch {
	case probe.HTTPGet != nil:
		why = getFailure(probed, address, probe.HTTPGet)
	case probe.TCPSocket != nil:
		why = connectFailure(probed, address)
	default:
		why = healthFailure(probed, address, probe.GRPC, timeout)
	}
	switch {
	case ctx.Err() != nil:
		found(lifecycle.ProbeSkipped, "")
	case why != "":
		found(lifecycle.ProbeFailed, why)
	default:
		found(lifecycle.ProbeSucceeded, "")
	}
}

// errLeaves ends a chain of redirects at one to another host, which counts as a success.
var errLeaves = errors.New("redirect to another host")

// getFailure returns why an httpGet probe of the address fails; empty if it succeeds. Like a
// kubelet, it does not verify certificates, uses no proxy, and follows redirects on the same host
// only.
func getFailure(ctx context.Context, address string, get *corev1.HTTPGetAction) string {
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path}
	}
	u.Scheme, u.Host = "http", address
	if get.Scheme == corev1.URISchemeHTTPS {
		u.Scheme = "https"
	}
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err.Error()
	}
	rq.Header.Set("Accept", "*/*")
	rq.Header.Set("User-Agent", probeUserAgent)
	for _, h := range get.HTTPHeaders {
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			rq.Host = h.Value
		}
		rq.Header.Set(h.Name, h.Value)
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if to.URL.Hostname() != via[0].URL.Hostname() {
				return errLeaves
			}
			if len(via) >= maxProbeRedirects {
				return fmt.Errorf("stopped after %d redirects", maxProbeRedirects)
			}
			return nil
		},
	}
	rs, err := client.Do(rq)
	if errors.Is(err, errLeaves) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	defer rs.Body.Close()
	if _, err := io.CopyN(io.Discard, rs.Body, maxProbedBody); err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	return responses.HTTPFailure(rs.StatusCode)
}

// connectFailure returns why a tcpSocket probe of the address fails; empty if it succeeds.
func connectFailure(ctx context.Context, address string) string {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err.Error()
	}
	_ = connection.Close() // it was opened, which is all that is asked
	return ""
}

// healthFailure returns why a grpc probe of the address fails; empty if it succeeds.
func healthFailure(ctx context.Context, address string, probe *corev1.GRPCAction, timeout time.Duration) string {
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithUserAgent(probeUserAgent), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error()
	}
	defer connection.Close()
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: ptr.Deref(probe.Service, "")})
	switch status.Code(err) {
	case codes.OK:
	case codes.Unavailable:
		return fmt.Sprintf("error: failed to connect service at %q: %v", address, err)
	case codes.DeadlineExceeded:
		return fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)
	default:
		return fmt.Sprintf("error: health rpc probe failed: %v", err)
	}
	if s := answer.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Sprintf("service unhealthy (responded with %q)", s.String())
	}
	return ""
}
