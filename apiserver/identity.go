package apiserver

import (
	"strings"
	"unicode"

	"minikcm.dev/minikcm/apiserver/fieldmanager"
)

// maxFieldManager is the maximum length of a field manager's name (meta/v1 validation).
const maxFieldManager = 128

// fieldOwner returns the field manager of a write: fieldManager if given, otherwise the
// first part of the User-Agent. For components in this process it is the name of the
// program that they are upstream.
func fieldOwner(rq *call, fieldManager string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(rq.r.UserAgent(), "/")
	if rq.local && name == ownAgent {
		name = componentOf(rq.user.Name)
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

// isComponent reports whether the request comes from a component in this process, not
// from a client of the embedding program.
func (rq *call) isComponent() bool { return rq.local && componentOf(rq.user.Name) != ownAgent }

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

// fieldWrite describes the request's write to the field managers. manager is the owner of
// the fields.
func (rq *call) fieldWrite(manager string) *fieldmanager.Write {
	return &fieldmanager.Write{
		Row: rq.row, Subresource: rq.Subresource, Kind: rq.kind(), Scale: rq.sub != nil && rq.sub.Kind == "Scale",
		Manager: manager, Now: rq.server.preparer.Now(),
	}
}
