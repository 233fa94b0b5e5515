// Package systemtest has no code of the product: its tests build the real command once and drive it as storefronts, providers and operators
// do, against a provider simulator on loopback, with kills, full disks, foreign locks and clocks of other zones.
//
// The tests named TestField… are the field cases of docs/field-cases.md.
package systemtest
