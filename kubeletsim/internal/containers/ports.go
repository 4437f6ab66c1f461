package containers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// Port returns a TCP port of the pod; nil if nothing listens on it.
func (rt *Runtime) Port(n *nodes.Node, e Pod, port int32) *secure.Port {
	shown := e.See()
	at, _ := listening(e, &shown, port, corev1.ProtocolTCP)
	if at == nil {
		return nil
	}
	address := shown.State.Address
	if shown.Pod.Spec.HostNetwork {
		address, _ = netip.ParseAddr(first(n.HostIPs()))
	}
	path := &reach.Path{Pod: shown.Pod, Listener: &at.Listener, Target: netip.AddrPortFrom(address, uint16(port))}
	if at.Process != "" {
		return &secure.Port{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rt.ServeProcess(path, w, r) })}
	}
	return &secure.Port{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rt.Answer(n, e, path, w, r) }),
		Known:   !at.Unknown, Certificate: rt.Certificate(n, e, path),
	}
}

// Listens returns what listens at a port of the pod; nil if nothing does.
func Listens(e Pod, port int32, protocol corev1.Protocol) *reach.Listener {
	shown := e.See()
	if at, _ := listening(e, &shown, port, protocol); at != nil {
		return &at.Listener
	}
	return nil
}

// Answer answers a request at the end of a path to the pod: as the pod declares, or with a page that says which pod it is.
func (rt *Runtime) Answer(n *nodes.Node, e Pod, path *reach.Path, w http.ResponseWriter, r *http.Request) {
	port := int32(path.Target.Port())
	if path.Listener.Unknown {
		ServePage(path, w, r)
		return
	}
	shown := e.See() // the answers may have changed since the connection was made
	in, err := rt.Running(n, e, path.Listener.Container)
	at, socket := listening(e, &shown, port, corev1.ProtocolTCP)
	if err == nil && socket != nil {
		answerByBytes(talkingTo(socket, r), w, r)
		return
	}
	if err != nil || at == nil || at.Unknown {
		http.Error(w, "the container does not listen any more", http.StatusBadGateway)
		return
	}
	if at.Files != nil && secure.Refuse(w, r) {
		return
	}
	if at.Described != nil && !at.Described.SpeaksHTTP() {
		answerByBytes(in.conversation(at.Described, path, r.RemoteAddr), w, r)
		return
	}
	if at.Described != nil {
		in.serveDescribed(at.Described, path, w, r)
		return
	}
	in.serveHTTP(w, r, responses.HTTPTo(at.HTTP, port, r.URL.Path))
}

// ServePage answers a request at the end of a path to a server of which nothing is known: the page says which pod, image and node
// it is.
func ServePage(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	writePage(path, w, r.Method, r.URL.RequestURI(), client)
}

func writePage(path *reach.Path, w http.ResponseWriter, method, uri, client string) {
	pod, image := path.Pod, ""
	for _, ref := range podspec.Containers(pod) {
		if ref.Name == path.Listener.Container {
			image = ref.Container.Image
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if method == http.MethodHead {
		return
	}
	_, _ = fmt.Fprintf(w, "pod: %s\nnamespace: %s\nnode: %s\nimage: %s\naddress: %s\nclient: %s\nrequest: %s %s\n",
		pod.Name, pod.Namespace, pod.Spec.NodeName, image, path.Target, cmp.Or(client, "127.0.0.1"), method, uri)
}

// serveHTTP sends an answer that the container declares.
func (in *Ref) serveHTTP(w http.ResponseWriter, r *http.Request, a responses.HTTP) {
	if strings.Contains(a.Body, "$") {
		a.Body, _ = podspec.KnownVariables(in.pod, in.spec).Expand(a.Body)
	}
	if a.Review != "" && r.Method == http.MethodPost {
		serveReview(w, r, a)
		return
	}
	text, open := strings.CutSuffix(a.Body, `\`)
	if !open && text != "" {
		text += "\n"
	}
	body := []byte(text)
	if a.Root != "" {
		var err error
		if a.Status, body, err = in.serveFile(r.Context(), a, r.URL.Path); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	switch {
	case a.Root == "" && isJSON(body):
		w.Header().Set("Content-Type", "application/json")
	case a.Root == "" || a.Status >= http.StatusBadRequest:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// isJSON reports whether a body is an object or a list in JSON.
func isJSON(body []byte) bool {
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && json.Valid(body)
}

// Running returns the reference to a running container.
func (rt *Runtime) Running(n *nodes.Node, e Pod, name string) (*Ref, error) {
	shown := e.See()
	id := shown.RunOf(name)
	for _, ref := range podspec.Containers(shown.Pod) {
		if ref.Name == name && id != "" {
			return &Ref{runtime: rt, node: n, entry: e, pod: shown.Pod, spec: ref.Container, id: id}, nil
		}
	}
	return nil, fmt.Errorf("container %s does not run any more", name)
}

// serveFile answers with one of the container's files, or a directory's index.html.
func (in *Ref) serveFile(ctx context.Context, a responses.HTTP, name string) (status int, body []byte, err error) {
	machine, release, err := in.runtime.machineFor(ctx, in)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	file := a.Root + path.Clean("/"+strings.TrimPrefix(name, a.Path))
	body, err = machine.Files.ReadFile(file)
	if errors.Is(err, syscall.EISDIR) {
		body, err = machine.Files.ReadFile(file + "/index.html")
	}
	if err != nil {
		return http.StatusNotFound, []byte("404 page not found\n"), nil // it is the answer
	}
	return http.StatusOK, body, nil
}
