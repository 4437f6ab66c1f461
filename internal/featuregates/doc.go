// Package featuregates reads --feature-gates and --runtime-config of upstream's programs: which features
// are on in a release of Kubernetes, which fields depend on them, and which API versions are served.
package featuregates
