// Package featuregates reads --feature-gates and --runtime-config of upstream's programs: the gates that have
// an effect here, and the API versions that they turn on.
package featuregates
