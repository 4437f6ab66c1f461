package apiserver

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/internal/auth"
)

// memoryHost is the host of in-memory requests. client-go requires one; it is never
// resolved.
const memoryHost = "http://in-memory.invalid"

// Config returns the configuration of an in-process client that acts as user, in
// groups: no socket, no throttling. It works with every client of client-go, and the
// caller may change it. The content type is not set, as in configurations read from a
// kubeconfig: controller-runtime then chooses it per type, since custom resources have
// no protobuf encoding.
func (s *Server) Config(user string, groups ...string) *rest.Config {
	identity := &auth.User{Name: user, Groups: groups}
	if user != auth.UserAnonymous {
		identity.Groups = append(groups, auth.GroupAuthenticated)
	}
	return &rest.Config{Host: memoryHost, Transport: s.Transport(identity), QPS: -1}
}

// ownConfig returns the configuration of the server's own clients, which fault rules do not
// apply to.
func (s *Server) ownConfig() *rest.Config {
	identity := &auth.User{Name: "system:apiserver", Groups: []string{auth.GroupMasters, auth.GroupAuthenticated}}
	return &rest.Config{Host: memoryHost, Transport: s.transport(identity, true, false), QPS: -1}
}

// Protobuf configures config for clients of built-in kinds: they send protobuf, and
// accept JSON where the server has no protobuf. It returns config.
func Protobuf(config *rest.Config) *rest.Config {
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, codec.ProtobufOrJSON
	return config
}

// Transport returns a RoundTripper that passes the requests of user to the handler
// chain without encoding them (package transport).
func (s *Server) Transport(user *auth.User) http.RoundTripper {
	return s.faulty(s.transport(user, false, false))
}

// Outside returns a RoundTripper that passes requests to the handler chain as requests from the network: their users are found by the
// credentials in them, and nothing else of their contexts has an effect but their ends and what their waits pause.
func (s *Server) Outside() http.RoundTripper {
	return transport.New(transport.Options{Handler: s.handler, Outside: true, Ledger: s.opts.Ledger, IsUncounted: s.isOwnPath, MaxBodyBytes: request.MaxBodyBytes})
}

// faulty applies fault rules to the requests of a transport.
func (s *Server) faulty(t *transport.Transport) http.RoundTripper {
	if s.opts.Faults == nil {
		return t
	}
	return &faultyTransport{server: s, next: t}
}

// transport is Transport without fault rules. part marks a part of the cluster, and actAs lets the context
// of a request replace user.
func (s *Server) transport(user *auth.User, part, actAs bool) *transport.Transport {
	return transport.New(transport.Options{Handler: s.handler, User: user, Part: part, ActAs: actAs, Ledger: s.opts.Ledger, IsUncounted: s.isOwnPath, MaxBodyBytes: request.MaxBodyBytes})
}
