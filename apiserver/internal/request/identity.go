package request

import (
	"strings"
	"unicode"
)

// maxFieldManager is the maximum length of a field manager's name (meta/v1 validation).
const maxFieldManager = 128

// FieldOwner returns the field manager of a write: fieldManager if given, otherwise the
// first part of the User-Agent. For components in this process it is the name of the
// program that they are upstream.
func (rq *Request) FieldOwner(fieldManager string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(rq.HTTP.UserAgent(), "/")
	if rq.Local && name == ownAgent {
		name = componentOf(rq.User.Name)
	}
	name = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, name)
	if len(name) > maxFieldManager {
		name = name[:maxFieldManager]
	}
	return name
}

// IsComponent reports whether the request comes from a component in this process, not
// from a client of the embedding program.
func (rq *Request) IsComponent() bool { return rq.Local && componentOf(rq.User.Name) != ownAgent }

// ownAgent is the prefix of the User-Agents of the process's own clients.
const ownAgent = "minikcm"

// componentOf returns the program that an in-process user is in a real cluster.
func componentOf(user string) string {
	switch {
	case user == "system:kube-scheduler":
		return "kube-scheduler"
	case strings.HasPrefix(user, "system:node:"):
		return "kubelet"
	case user == "system:kube-controller-manager", strings.HasPrefix(user, "system:serviceaccount:kube-system:"):
		return "kube-controller-manager"
	}
	return ownAgent
}
