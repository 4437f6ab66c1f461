// Package config reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) and compiles it
// to the profiles that package plugins decides by. Files are decoded strictly and within limits;
// a value that kube-scheduler refuses is an error at the path of its field.
package config
