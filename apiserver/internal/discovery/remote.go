package discovery

import (
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/openapi"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Remote holds the versions that other servers serve. It is immutable.
type Remote struct {
	// Versions are ordered by the priority of their groups and versions, the highest first.
	Versions []RemoteVersion
}

// RemoteVersion is a version that another server serves.
type RemoteVersion struct {
	schema.GroupVersion
	// Name, GroupPriority and VersionPriority are the APIService's.
	Name                           string
	GroupPriority, VersionPriority int32
	// Discovery has the resources, as of the last successful check if its Freshness is Stale.
	Discovery apidiscovery.APIVersionDiscovery
	// OpenAPI is the relative URL of the OpenAPI v3 document; empty if there is none. OpenAPIV2 is
	// the version's part of the last readable OpenAPI v2 document; nil: it has none.
	OpenAPI   string
	OpenAPIV2 *openapi.Remote
}

// group is a group with the versions of this server and of others.
type group struct {
	name string
	// local are this server's versions, remote the versions of other servers.
	local  []string
	remote []*RemoteVersion
}

// groups returns the groups of a table and of other servers. A group that only others serve
// comes before the groups of a lower priority.
func (d *Discovery) groups(table *resources.Table, remote *Remote) []group {
	var all []group
	var priorities []int32
	for _, g := range table.Groups() {
		rows := table.InVersion(schema.GroupVersion{Group: g.Name, Version: g.Versions[0]})
		all = append(all, group{name: g.Name, local: g.Versions})
		priorities = append(priorities, d.priority(g.Name, len(rows) > 0 && rows[0].Custom))
	}
	if remote == nil {
		return all
	}
	for i := range remote.Versions {
		v := &remote.Versions[i]
		at := slices.IndexFunc(all, func(g group) bool { return g.name == v.Group })
		if at < 0 {
			at = slices.IndexFunc(priorities, func(p int32) bool { return p < v.GroupPriority })
			if at < 0 {
				at = len(all)
			}
			all = slices.Insert(all, at, group{name: v.Group})
			priorities = slices.Insert(priorities, at, v.GroupPriority)
		}
		if !slices.Contains(all[at].local, v.Version) {
			all[at].remote = append(all[at].remote, v)
		}
	}
	return all
}
