package policy

// simulationView returns the role that lets viewers see the simulation. The roles edit and admin get no more: a
// user who may begin a run of a scenario, a fork or a recording may do everything in the cluster.
func simulationView() clusterRole {
	return clusterRole{name: "minikcm:aggregate-to-view", aggregatedTo: "view", rules: []rule{
		{verbs: "get list watch", groups: "simulation.minikcm.dev", resources: "clocks faults forks imageprofiles nodepools scenarioruns staticpodfolders"},
	}}
}
