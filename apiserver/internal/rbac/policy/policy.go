package policy

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rule is an rbacv1.PolicyRule in short: spaces separate the values of a field, and the
// group core is the one without a name.
type rule struct{ verbs, groups, resources, names, paths string }

// clusterRole is a ClusterRole. aggregates is the name in the label of the roles whose rules
// it gathers, aggregatedTo the name in its own.
type clusterRole struct {
	name                     string
	rules                    []rule
	aggregates, aggregatedTo string
}

// clusterBinding binds the ClusterRole of the same name.
type clusterBinding struct {
	name     string
	subjects []rbacv1.Subject
}

// localRole is a Role and its RoleBinding.
type localRole struct {
	namespace, name, binding string
	subjects                 []rbacv1.Subject
	rules                    []rule
}

// systemNamespace has the service accounts of the components.
const systemNamespace = metav1.NamespaceSystem

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: systemNamespace}
}

func policyRules(rules []rule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, r := range rules {
		groups := strings.Fields(r.groups)
		for i := range groups {
			if groups[i] == "core" {
				groups[i] = ""
			}
		}
		p := rbacv1.PolicyRule{Verbs: strings.Fields(r.verbs)}
		if r.paths != "" {
			p.NonResourceURLs = strings.Fields(r.paths)
		} else {
			p.APIGroups, p.Resources = groups, strings.Fields(r.resources)
			if r.names != "" {
				p.ResourceNames = strings.Fields(r.names)
			}
		}
		all = append(all, p)
	}
	return all
}

// meta returns the metadata of an object that starts of the server keep complete.
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

// controllerPrefix precedes a controller's service account in the names of its role and
// binding.
const controllerPrefix = "system:controller:"

const aggregateLabel = "rbac.authorization.k8s.io/aggregate-to-"

// NodeRules returns the rules of the ClusterRole system:node, which the Node authorizer applies
// to resources that are the same for all nodes.
func NodeRules() []rbacv1.PolicyRule {
	for _, r := range nodeRoles() {
		if r.name == "system:node" {
			return policyRules(r.rules)
		}
	}
	return nil
}

// Gates are the feature gates that add rules and roles.
type Gates struct {
	// Simulation: the kinds of the simulation are served.
	Simulation            bool
	GenericWorkload       bool
	DRAResourcePoolStatus bool
	StorageVersionAPI     bool
}

// added returns the policy that the gates add.
func (g Gates) added() addition {
	var all addition
	if g.GenericWorkload {
		all = groupScheduling()
	}
	if g.DRAResourcePoolStatus {
		all.controllers = append(all.controllers, poolStatusController())
	}
	if g.Simulation {
		all.roles = append(all.roles, simulationView())
	}
	if g.StorageVersionAPI {
		all.controllers = append(all.controllers, storageVersionCollector())
	}
	return all
}

// addition holds the policy that a feature gate adds: rules of ClusterRoles, by name, roles, and roles
// of controllers.
type addition struct {
	rules       map[string][]rule
	roles       []clusterRole
	controllers []clusterRole
}

// ClusterRoles returns the ClusterRoles.
func ClusterRoles(g Gates) []*rbacv1.ClusterRole {
	var all []*rbacv1.ClusterRole
	added := g.added()
	for _, r := range slices.Concat(userRoles(), componentRoles(), added.roles) {
		r.rules = append(r.rules, added.rules[r.name]...)
		role := &rbacv1.ClusterRole{ObjectMeta: meta("", r.name), Rules: policyRules(r.rules)}
		if r.aggregates != "" {
			role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
				{MatchLabels: map[string]string{aggregateLabel + r.aggregates: "true"}},
			}}
		}
		if r.aggregatedTo != "" {
			role.Labels[aggregateLabel+r.aggregatedTo] = "true"
		}
		all = append(all, role)
	}
	for _, r := range slices.Concat(controllerRoles(), added.controllers) {
		all = append(all, &rbacv1.ClusterRole{ObjectMeta: meta("", controllerPrefix+r.name), Rules: policyRules(r.rules)})
	}
	return all
}

// ClusterRoleBindings returns the ClusterRoleBindings.
func ClusterRoleBindings(g Gates) []*rbacv1.ClusterRoleBinding {
	bind := func(name string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta("", name), Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		}
	}
	var all []*rbacv1.ClusterRoleBinding
	for _, b := range clusterBindings() {
		all = append(all, bind(b.name, b.subjects...))
	}
	for _, r := range slices.Concat(controllerRoles(), g.added().controllers) {
		all = append(all, bind(controllerPrefix+r.name, account(r.name)))
	}
	return all
}

// Roles returns the Roles.
func Roles() []*rbacv1.Role {
	var all []*rbacv1.Role
	for _, r := range localRoles() {
		all = append(all, &rbacv1.Role{ObjectMeta: meta(r.namespace, r.name), Rules: policyRules(r.rules)})
	}
	return all
}

// RoleBindings returns the RoleBindings.
func RoleBindings() []*rbacv1.RoleBinding {
	var all []*rbacv1.RoleBinding
	for _, r := range localRoles() {
		all = append(all, &rbacv1.RoleBinding{
			ObjectMeta: meta(r.namespace, r.binding), Subjects: r.subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.name},
		})
	}
	return all
}
