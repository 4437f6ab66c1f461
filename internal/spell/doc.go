// Package spell finds the name that was meant among those that there are.
package spell
