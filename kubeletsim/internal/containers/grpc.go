package containers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// The protocol: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
const (
	typeGRPC = "application/grpc"
	// prefixLength is the length of what is before each message: whether it is compressed, and its length.
	prefixLength = 5
	// codeTrailer and messageTrailer are the headers of an answer that has the status of a call after its body.
	codeTrailer    = http.TrailerPrefix + "Grpc-Status"
	messageTrailer = http.TrailerPrefix + "Grpc-Message"
)

// readMessage reads a message of a call; io.EOF if there is no more.
func readMessage(r io.Reader) ([]byte, error) {
	var prefix [prefixLength]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(prefix[1:])
	switch {
	case prefix[0] != 0:
		return nil, &servers.StatusError{Code: servers.CodeUnimplemented, Why: "compressed messages are not simulated"}
	case length > maxRequestBody:
		return nil, &servers.StatusError{Code: servers.CodeTooLarge, Why: fmt.Sprintf("the message has %d bytes, more than %d", length, maxRequestBody)}
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return message, nil
}

// readCall reads the only message of a call.
func readCall(r io.Reader) ([]byte, error) {
	message, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	if _, err = readMessage(r); err == nil {
		return nil, &servers.StatusError{Code: servers.CodeUnimplemented, Why: "calls with several messages are not simulated"}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return message, err
}

// framed returns a message as it is sent.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// endCall ends a call with a status.
func endCall(w http.ResponseWriter, code servers.Code, why string) {
	w.Header().Set(codeTrailer, strconv.Itoa(int(code)))
	if why != "" {
		w.Header().Set(messageTrailer, percentEncoded(why))
	}
}

// percentEncoded returns a text as the header grpc-message has it.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			_, _ = fmt.Fprintf(&b, "%%%02X", c) // writes to memory do not fail
		}
	}
	return b.String()
}

// serveCall answers a call of gRPC as the container's description says.
func (in *Ref) serveCall(l *servers.Listener, at *reach.Path, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.ProtoMajor < 2 || !strings.HasPrefix(r.Header.Get("Content-Type"), typeGRPC) {
		fails(servers.Close)(r.Context(), w) // as a server of gRPC that gets another protocol
		return
	}
	w.Header().Set("Content-Type", typeGRPC)
	if l.Schema.Reflects(r.URL.Path) {
		reflectSchema(l.Schema, w, r)
		return
	}
	message, err := readCall(r.Body)
	text := ""
	if err == nil {
		text, err = l.Schema.Request(r.URL.Path, message)
	}
	var status *servers.StatusError
	switch {
	case errors.As(err, &status):
		endCall(w, status.Code, status.Why)
	case err == nil:
		in.serveBody(l, at, w, r, []byte(text))
	} // otherwise the client is gone
}

// writeCall sends the answer to a call.
func (s *serving) writeCall(w http.ResponseWriter, a *servers.Answer) {
	messages, err := s.listener.Schema.Messages(s.in.Request.Path, a)
	for _, h := range a.Headers {
		if !strings.EqualFold(h.Name, "Content-Type") {
			w.Header().Add(h.Name, h.Value)
		}
	}
	var status *servers.StatusError
	if errors.As(err, &status) {
		endCall(w, status.Code, status.Why)
		return
	}
	w.WriteHeader(http.StatusOK)
	for _, m := range messages {
		_, _ = w.Write(framed(m)) // it fails only if the client is gone
	}
	endCall(w, servers.CodeOK, "")
}

// reflectSchema answers the questions of a call of the reflection service, one after the other.
func reflectSchema(schema *servers.Schema, w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	_ = control.Flush() // the client waits for the headers
	for {
		data, err := awaitMessage(r)
		question := &grpc_reflection_v1.ServerReflectionRequest{}
		var status *servers.StatusError
		switch {
		case errors.Is(err, io.EOF):
			endCall(w, servers.CodeOK, "")
			return
		case errors.As(err, &status):
			endCall(w, status.Code, status.Why)
			return
		case err != nil:
			return // the client is gone
		case proto.Unmarshal(data, question) != nil:
			endCall(w, servers.CodeInvalid, "the message is no ServerReflectionRequest")
			return
		}
		answer, err := proto.MarshalOptions{Deterministic: true}.Marshal(schema.Reflect(question))
		if err != nil {
			endCall(w, servers.CodeInternal, err.Error())
			return
		}
		if _, err := w.Write(framed(answer)); err != nil {
			return
		}
		_ = control.Flush()
	}
}

// awaitMessage reads a message for which the cluster's time does not wait.
func awaitMessage(r *http.Request) ([]byte, error) {
	if p := inflight.PauserOf(r.Context()); p != nil {
		p.Pause()
		defer p.Resume()
	}
	return readMessage(r.Body)
}

// probeHealth sends a health check to a server of gRPC that is described.
func (in *Ref) probeHealth(ctx context.Context, at *listeners.Server, probe *corev1.GRPCAction, timeout time.Duration, found answers) {
	service := ""
	if probe.Service != nil {
		service = *probe.Service
	}
	message, err := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: service})
	server, gone := in.runtime.Running(in.node, in.entry, at.Container)
	if err != nil || gone != nil {
		found(lifecycle.ProbeSkipped, "")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := found.once()
	address, _ := netip.ParseAddr(first(in.podIPs()))
	target := netip.AddrPortFrom(address, uint16(probe.Port))
	defer in.after(timeout, func() {
		answer(lifecycle.ProbeFailed, fmt.Sprintf("timeout: health rpc did not complete within %s", timeout))
		cancel()
	})()
	r := in.probeRequest(ctx, target, &corev1.HTTPGetAction{Path: servers.HealthCheck})
	r.Method, r.Proto, r.ProtoMajor, r.ProtoMinor = http.MethodPost, "HTTP/2.0", 2, 0
	r.Header.Set("Content-Type", typeGRPC)
	r.Body = io.NopCloser(bytes.NewReader(framed(message)))
	w := &recorded{}
	server.serveCall(at.Described, &reach.Path{Pod: server.pod, Listener: &at.Listener, Target: target}, w, r)
	switch why := healthFailureOf(w); {
	case ctx.Err() != nil:
		answer(lifecycle.ProbeSkipped, "") // the timer, if it has fired, has answered
	case why == "":
		answer(lifecycle.ProbeSucceeded, "")
	default:
		answer(lifecycle.ProbeFailed, why)
	}
}

// healthFailureOf returns why the answer to a health check is a failure, in the words of upstream's prober; empty if it is none.
func healthFailureOf(w *recorded) string {
	code, err := strconv.Atoi(w.Header().Get(codeTrailer))
	if w.failure != nil || err != nil {
		return "error: health rpc probe failed: rpc error: code = Unavailable desc = error reading from server: EOF"
	}
	if code != 0 {
		return fmt.Sprintf("error: health rpc probe failed: rpc error: code = %s desc = %s", servers.Code(code), w.Header().Get(messageTrailer))
	}
	message, err := readMessage(&w.body)
	if err != nil {
		return "error: health rpc probe failed: " + err.Error()
	}
	if status := servers.Health(message); status != "SERVING" {
		return fmt.Sprintf("service unhealthy (responded with %q)", status)
	}
	return ""
}
