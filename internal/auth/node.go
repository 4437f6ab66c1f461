package auth

import (
	"slices"
	"strings"
)

// NodeName returns the name of the node whose kubelet the user is. isNode is false for other
// users, and the name is empty for a kubelet that does not say which node it is.
func NodeName(user *User) (name string, isNode bool) {
	if user == nil {
		return "", false
	}
	name, named := strings.CutPrefix(user.Name, nodePrefix)
	if !named || !slices.Contains(user.Groups, groupNodes) {
		return "", false
	}
	return name, true
}

// Node returns the user that the kubelet of a node is.
func Node(name string) *User {
	return &User{Name: nodePrefix + name, Groups: []string{groupNodes, GroupAuthenticated}}
}
