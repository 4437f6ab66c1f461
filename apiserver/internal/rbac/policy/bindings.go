package policy

import rbacv1 "k8s.io/api/rbac/v1"

// clusterBindings returns the subjects of the cluster roles, except the roles of controllers.
func clusterBindings() []clusterBinding {
	return []clusterBinding{
		{"cluster-admin", []rbacv1.Subject{group("system:masters")}},
		{"system:basic-user", []rbacv1.Subject{group("system:authenticated")}},
		{"system:cluster-trust-bundle-discovery", []rbacv1.Subject{group("system:serviceaccounts")}},
		{"system:discovery", []rbacv1.Subject{group("system:authenticated")}},
		{"system:kube-controller-manager", []rbacv1.Subject{user("system:kube-controller-manager")}},
		{"system:kube-dns", []rbacv1.Subject{account("kube-dns")}},
		{"system:kube-scheduler", []rbacv1.Subject{user("system:kube-scheduler")}},
		{"system:monitoring", []rbacv1.Subject{group("system:monitoring")}},
		{"system:node", []rbacv1.Subject{}},
		{"system:node-proxier", []rbacv1.Subject{user("system:kube-proxy")}},
		{"system:public-info-viewer", []rbacv1.Subject{group("system:authenticated"), group("system:unauthenticated")}},
		{"system:service-account-issuer-discovery", []rbacv1.Subject{group("system:serviceaccounts")}},
		{"system:volume-scheduler", []rbacv1.Subject{user("system:kube-scheduler")}},
	}
}

// localRoles returns the roles of single namespaces, with their bindings.
func localRoles() []localRole {
	return []localRole{
		{
			namespace: "kube-public", name: "system:controller:bootstrap-signer", binding: "system:controller:bootstrap-signer",
			subjects: []rbacv1.Subject{account("bootstrap-signer")},
			rules: []rule{
				{verbs: "get list watch", groups: "core", resources: "configmaps"},
				{verbs: "update", groups: "core", resources: "configmaps", names: "cluster-info"},
				{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			},
		},
		{
			namespace: "kube-system", name: "extension-apiserver-authentication-reader", binding: "system::extension-apiserver-authentication-reader",
			subjects: []rbacv1.Subject{user("system:kube-controller-manager"), user("system:kube-scheduler")},
			rules: []rule{
				{verbs: "get list watch", groups: "core", resources: "configmaps", names: "extension-apiserver-authentication"},
			},
		},
		{
			namespace: "kube-system", name: "system::leader-locking-kube-controller-manager", binding: "system::leader-locking-kube-controller-manager",
			subjects: []rbacv1.Subject{user("system:kube-controller-manager"), account("kube-controller-manager"), account("leader-election-controller")},
			rules: []rule{
				{verbs: "create get list update watch", groups: "coordination.k8s.io", resources: "leases"},
				{verbs: "create get list update watch", groups: "coordination.k8s.io", resources: "leasecandidates"},
			},
		},
		{
			namespace: "kube-system", name: "system::leader-locking-kube-scheduler", binding: "system::leader-locking-kube-scheduler",
			subjects: []rbacv1.Subject{user("system:kube-scheduler"), account("kube-scheduler")},
			rules: []rule{
				{verbs: "create get list update watch", groups: "coordination.k8s.io", resources: "leases"},
				{verbs: "create get list update watch", groups: "coordination.k8s.io", resources: "leasecandidates"},
			},
		},
		{
			namespace: "kube-system", name: "system:controller:bootstrap-signer", binding: "system:controller:bootstrap-signer",
			subjects: []rbacv1.Subject{account("bootstrap-signer")},
			rules: []rule{
				{verbs: "get list watch", groups: "core", resources: "secrets"},
			},
		},
		{
			namespace: "kube-system", name: "system:controller:cloud-provider", binding: "system:controller:cloud-provider",
			subjects: []rbacv1.Subject{account("cloud-provider")},
			rules: []rule{
				{verbs: "create get list watch", groups: "core", resources: "configmaps"},
			},
		},
		{
			namespace: "kube-system", name: "system:controller:token-cleaner", binding: "system:controller:token-cleaner",
			subjects: []rbacv1.Subject{account("token-cleaner")},
			rules: []rule{
				{verbs: "delete get list watch", groups: "core", resources: "secrets"},
				{verbs: "create patch update", groups: "core events.k8s.io", resources: "events"},
			},
		},
	}
}
