// Package featuregates records the names of upstream's feature gates.
package featuregates
