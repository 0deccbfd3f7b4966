#!/bin/bash
# A stand-in for kindnetd, which can't be built from public modules: gives this node's pods addresses from its
# podCIDR, routes the other nodes' podCIDRs to them, and masquerades what leaves the pod network.
# No NetworkPolicy.
set -u
token=/var/run/secrets/kubernetes.io/serviceaccount/token
authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt
conflist=/etc/cni/net.d/10-dev.conflist

nodes() { # prints: name, address, podCIDR of each node
  curl --silent --fail --max-time 5 --cacert "$authority" --header "Authorization: Bearer $(cat "$token")" \
    "https://$CONTROL_PLANE_ENDPOINT/api/v1/nodes" |
    jq -r '.items[] | [.metadata.name,
      (.status.addresses[]? | select(.type == "InternalIP") | .address), .spec.podCIDR // ""] | @tsv'
}

masquerade() { # only packets to outside the pod network lose their source address
  iptables -w -t nat -N DEV-MASQ 2>/dev/null || iptables -w -t nat -F DEV-MASQ
  iptables -w -t nat -A DEV-MASQ -m addrtype --dst-type LOCAL -j RETURN
  iptables -w -t nat -A DEV-MASQ -d "$POD_SUBNET" -j RETURN
  iptables -w -t nat -A DEV-MASQ -j MASQUERADE
  iptables -w -t nat -C POSTROUTING -s "$POD_SUBNET" -j DEV-MASQ 2>/dev/null ||
    iptables -w -t nat -A POSTROUTING -s "$POD_SUBNET" -j DEV-MASQ
}

write_conflist() { # $1: podCIDR of this node; renamed into place, because containerd watches the folder
  jq -n --arg subnet "$1" '{cniVersion: "0.3.1", name: "dev", plugins: [
    {type: "ptp", ipMasq: false, mtu: 1500, ipam: {type: "host-local", dataDir: "/run/cni-ipam-state",
      routes: [{dst: "0.0.0.0/0"}], ranges: [[{subnet: $subnet}]]}},
    {type: "portmap", capabilities: {portMappings: true}}]}' > "$conflist.new"
  mv "$conflist.new" "$conflist"
  echo "pods of this node get addresses from $1"
}

masquerade
while :; do
  while IFS=$'\t' read -r _ address subnet; do
    [ -n "$subnet" ] || continue
    if [ "$address" = "$HOST_IP" ]; then
      [ -e "$conflist" ] || write_conflist "$subnet"
    else
      ip route replace "$subnet" via "$address"
    fi
  done < <(nodes)
  if [ -e "$conflist" ]; then sleep 5; else sleep 0.3; fi
done
