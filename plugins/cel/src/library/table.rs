//! The functions that can be called, as the checker knows them and the reference lists them. Each has an example that is
//! true, which a test evaluates.

#![cfg_attr(target_arch = "wasm32", allow(dead_code))] // the component does not describe itself

/// Functions that belong together.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) functions: &'static [Function],
}

/// Signatures that mean the same, divided by `|`, and an example.
///
/// A signature reads `target.name(arguments) -> result`. One upper case letter stands for any type, the same everywhere in
/// it.
pub(crate) struct Function(pub(crate) &'static str, pub(crate) &'static str);

use Function as F;

/// What stands before the dot of a function's name and is no value.
pub(crate) const NAMESPACES: [&str; 8] = ["base64", "format", "ip", "lists", "math", "optional", "sets", "strings"];

pub(crate) const GROUPS: &[Group] = &[
    Group {
        title: "Fleet",
        functions: &[
            F(
                "cluster.score(string) -> int | cluster.score(string, int) -> int",
                "cluster.score('cost') == 7 && cluster.score('none', -1) == -1",
            ),
            F("cluster.scoreAge(string) -> duration", "cluster.scoreAge('cost') < duration('5m')"),
            F("map<string, A>.has(string) -> bool", "cluster.labels.has('zone')"),
            F(
                "map<string, A>.get(string, A) -> A",
                "cluster.labels.get('zone', '') == 'a' && cluster.labels.get('x', 'none') == 'none'",
            ),
            F("unit.tolerates(taint) -> bool", "cluster.taints.all(taint, unit.tolerates(taint))"),
            F("spread(string) -> int", "spread('zone') == 3"),
        ],
    },
    Group {
        title: "Values",
        functions: &[
            F(
                "size(string) -> int | size(bytes) -> int | size(list<A>) -> int | size(map<A, B>) -> int | string.size() -> int | bytes.size() -> int | list<A>.size() -> int | map<A, B>.size() -> int",
                "size('día') == 3 && {'a': 1}.size() == 1",
            ),
            F("type(A) -> type", "type(1) == int"),
            F("dyn(A) -> dyn", "dyn(1) == 1.0"),
            F("bool(bool) -> bool | bool(string) -> bool", "bool('true')"),
            F(
                "int(int) -> int | int(uint) -> int | int(double) -> int | int(string) -> int | int(timestamp) -> int | int(duration) -> int",
                "int('7') + int(2.9) == 9",
            ),
            F("uint(uint) -> uint | uint(int) -> uint | uint(double) -> uint | uint(string) -> uint", "uint(7) == 7u"),
            F(
                "double(double) -> double | double(int) -> double | double(uint) -> double | double(string) -> double",
                "double(1) / 2.0 == 0.5",
            ),
            F(
                "string(string) -> string | string(bool) -> string | string(int) -> string | string(uint) -> string | string(double) -> string | string(bytes) -> string | string(timestamp) -> string | string(duration) -> string | string(ip) -> string | string(cidr) -> string",
                "string(8) == '8'",
            ),
            F("bytes(bytes) -> bytes | bytes(string) -> bytes", "bytes('é').size() == 2"),
            F("base64.encode(bytes) -> string", "base64.encode(b'orrery') == 'b3JyZXJ5'"),
            F("base64.decode(string) -> bytes", "base64.decode('b3JyZXJ5') == b'orrery'"),
        ],
    },
    Group {
        title: "Strings",
        functions: &[
            F("string.contains(string) -> bool", "'maintenance'.contains('ten')"),
            F("string.startsWith(string) -> bool", "'eu-1'.startsWith('eu')"),
            F("string.endsWith(string) -> bool", "'eu-1'.endsWith('1')"),
            F("string.matches(string) -> bool | matches(string, string) -> bool", "'eu-1'.matches('^[a-z]+-[0-9]$')"),
            F("string.find(string) -> string", "'a1b22'.find('[0-9]+') == '1' && 'x'.find('[0-9]') == ''"),
            F(
                "string.findAll(string) -> list<string> | string.findAll(string, int) -> list<string>",
                "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b2'.findAll('[0-9]', 1) == ['1']",
            ),
            F("string.charAt(int) -> string", "'abc'.charAt(1) == 'b'"),
            F(
                "string.indexOf(string) -> int | string.indexOf(string, int) -> int",
                "'abcabc'.indexOf('c') == 2 && 'abcabc'.indexOf('c', 3) == 5",
            ),
            F(
                "string.lastIndexOf(string) -> int | string.lastIndexOf(string, int) -> int",
                "'abcabc'.lastIndexOf('a') == 3",
            ),
            F("string.lowerAscii() -> string", "'EU'.lowerAscii() == 'eu'"),
            F("string.upperAscii() -> string", "'eu'.upperAscii() == 'EU'"),
            F("string.trim() -> string", "'  a '.trim() == 'a'"),
            F(
                "string.replace(string, string) -> string | string.replace(string, string, int) -> string",
                "'a-b-c'.replace('-', '.') == 'a.b.c' && 'a-b-c'.replace('-', '.', 1) == 'a.b-c'",
            ),
            F(
                "string.split(string) -> list<string> | string.split(string, int) -> list<string>",
                "'a,b'.split(',') == ['a', 'b'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
            ),
            F(
                "string.substring(int) -> string | string.substring(int, int) -> string",
                "'abcd'.substring(1) == 'bcd' && 'abcd'.substring(1, 3) == 'bc'",
            ),
            F("string.reverse() -> string", "'abc'.reverse() == 'cba'"),
            F("list<string>.join() -> string | list<string>.join(string) -> string", "['a', 'b'].join('-') == 'a-b'"),
            F("string.format(list<dyn>) -> string", "'%s has %d'.format(['east', 3]) == 'east has 3'"),
            F("strings.quote(string) -> string", "strings.quote('a\"b') == '\"a\\\\\"b\"'"),
        ],
    },
    Group {
        title: "Lists and sets",
        functions: &[
            F("list<A>.isSorted() -> bool", "[1, 2, 2].isSorted() && ![2, 1].isSorted()"),
            F("list<A>.sum() -> A", "[1, 2, 3].sum() == 6 && [0.5, 0.5].sum() == 1.0"),
            F("list<A>.min() -> A", "[3, 1, 2].min() == 1"),
            F("list<A>.max() -> A", "[3, 1, 2].max() == 3"),
            F("list<A>.indexOf(A) -> int", "['a', 'b', 'a'].indexOf('a') == 0 && ['a'].indexOf('b') == -1"),
            F("list<A>.lastIndexOf(A) -> int", "['a', 'b', 'a'].lastIndexOf('a') == 2"),
            F("list<A>.first() -> optional<A>", "[1, 2].first().value() == 1 && ![].first().hasValue()"),
            F("list<A>.last() -> optional<A>", "[1, 2].last().orValue(0) == 2"),
            F("list<A>.slice(int, int) -> list<A>", "[1, 2, 3, 4].slice(1, 3) == [2, 3]"),
            F(
                "list<list<A>>.flatten() -> list<A> | list<A>.flatten(int) -> list<dyn>",
                "[[1], [2, 3]].flatten() == [1, 2, 3]",
            ),
            F("list<A>.distinct() -> list<A>", "[1, 2, 1].distinct() == [1, 2]"),
            F("list<A>.reverse() -> list<A>", "[1, 2].reverse() == [2, 1]"),
            F("list<A>.sort() -> list<A>", "[3, 1, 2].sort() == [1, 2, 3]"),
            F("lists.range(int) -> list<int>", "lists.range(3) == [0, 1, 2]"),
            F("sets.contains(list<A>, list<A>) -> bool", "sets.contains([1, 2, 3], [2]) && !sets.contains([1], [2])"),
            F("sets.equivalent(list<A>, list<A>) -> bool", "sets.equivalent([1, 2], [2, 1, 1])"),
            F(
                "sets.intersects(list<A>, list<A>) -> bool",
                "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])",
            ),
        ],
    },
    Group {
        title: "Numbers",
        functions: &[
            F("math.abs(int) -> int | math.abs(uint) -> uint | math.abs(double) -> double", "math.abs(-3) == 3"),
            F("math.sign(int) -> int | math.sign(uint) -> uint | math.sign(double) -> double", "math.sign(-3) == -1"),
            F("math.ceil(double) -> double", "math.ceil(1.2) == 2.0"),
            F("math.floor(double) -> double", "math.floor(1.8) == 1.0"),
            F("math.round(double) -> double", "math.round(1.5) == 2.0"),
            F("math.trunc(double) -> double", "math.trunc(-1.5) == -1.0"),
            F(
                "math.sqrt(double) -> double | math.sqrt(int) -> double | math.sqrt(uint) -> double",
                "math.sqrt(9) == 3.0",
            ),
            F("math.isNaN(double) -> bool", "!math.isNaN(1.0)"),
            F("math.isInf(double) -> bool", "math.isInf(1.0 / 0.0)"),
            F("math.isFinite(double) -> bool", "math.isFinite(1.0)"),
            F("math.bitAnd(int, int) -> int | math.bitAnd(uint, uint) -> uint", "math.bitAnd(6, 3) == 2"),
            F("math.bitOr(int, int) -> int | math.bitOr(uint, uint) -> uint", "math.bitOr(4, 1) == 5"),
            F("math.bitXor(int, int) -> int | math.bitXor(uint, uint) -> uint", "math.bitXor(6, 3) == 5"),
            F("math.bitNot(int) -> int | math.bitNot(uint) -> uint", "math.bitNot(0) == -1"),
            F(
                "math.bitShiftLeft(int, int) -> int | math.bitShiftLeft(uint, int) -> uint",
                "math.bitShiftLeft(1, 4) == 16",
            ),
            F(
                "math.bitShiftRight(int, int) -> int | math.bitShiftRight(uint, int) -> uint",
                "math.bitShiftRight(16, 4) == 1",
            ),
        ],
    },
    Group {
        title: "Time",
        functions: &[
            F(
                "timestamp(timestamp) -> timestamp | timestamp(string) -> timestamp | timestamp(int) -> timestamp",
                "timestamp('1970-01-01T00:01:00Z') == timestamp(60)",
            ),
            F("duration(duration) -> duration | duration(string) -> duration", "duration('90s') == duration('1m30s')"),
            F(
                "timestamp.getFullYear() -> int | timestamp.getFullYear(string) -> int",
                "timestamp('2026-11-30T18:00:00Z').getFullYear() == 2026",
            ),
            F(
                "timestamp.getMonth() -> int | timestamp.getMonth(string) -> int",
                "timestamp('2026-11-30T18:00:00Z').getMonth() == 10",
            ),
            F(
                "timestamp.getDate() -> int | timestamp.getDate(string) -> int",
                "timestamp('2026-11-30T18:00:00Z').getDate() == 30",
            ),
            F(
                "timestamp.getDayOfMonth() -> int | timestamp.getDayOfMonth(string) -> int",
                "timestamp('2026-11-30T18:00:00Z').getDayOfMonth() == 29",
            ),
            F(
                "timestamp.getDayOfYear() -> int | timestamp.getDayOfYear(string) -> int",
                "timestamp('2026-01-01T18:00:00Z').getDayOfYear() == 0",
            ),
            F(
                "timestamp.getDayOfWeek() -> int | timestamp.getDayOfWeek(string) -> int",
                "timestamp('2026-11-30T18:00:00Z').getDayOfWeek() == 1",
            ),
            F(
                "timestamp.getHours() -> int | timestamp.getHours(string) -> int | duration.getHours() -> int",
                "timestamp('2026-11-30T18:00:00Z').getHours('Europe/Berlin') == 19 && duration('90m').getHours() == 1",
            ),
            F(
                "timestamp.getMinutes() -> int | timestamp.getMinutes(string) -> int | duration.getMinutes() -> int",
                "duration('90m').getMinutes() == 90",
            ),
            F(
                "timestamp.getSeconds() -> int | timestamp.getSeconds(string) -> int | duration.getSeconds() -> int",
                "duration('2m').getSeconds() == 120",
            ),
            F(
                "timestamp.getMilliseconds() -> int | timestamp.getMilliseconds(string) -> int | duration.getMilliseconds() -> int",
                "timestamp('2026-11-30T18:00:00.250Z').getMilliseconds() == 250",
            ),
        ],
    },
    Group {
        title: "Optionals",
        functions: &[
            F("optional.of(A) -> optional<A>", "optional.of(1).value() == 1"),
            F("optional.none() -> optional<A>", "!optional.none().hasValue()"),
            F("optional.ofNonZeroValue(A) -> optional<A>", "!optional.ofNonZeroValue('').hasValue()"),
            F("optional<A>.hasValue() -> bool", "{'a': 1}.?a.hasValue()"),
            F("optional<A>.value() -> A", "{'a': 1}[?'a'].value() == 1"),
            F("optional<A>.or(optional<A>) -> optional<A>", "optional.none().or(optional.of(2)).value() == 2"),
            F("optional<A>.orValue(A) -> A", "cluster.labels[?'none'].orValue('x') == 'x'"),
        ],
    },
    Group {
        title: "Quantities",
        functions: &[
            F("quantity(string) -> quantity", "quantity('1Gi').asInteger() == 1073741824"),
            F("isQuantity(string) -> bool", "isQuantity('500m') && !isQuantity('10Mo')"),
            F(
                "quantity.add(quantity) -> quantity | quantity.add(int) -> quantity",
                "quantity('1').add(quantity('500m')) == quantity('1.5') && quantity('1').add(1) == quantity('2')",
            ),
            F(
                "quantity.sub(quantity) -> quantity | quantity.sub(int) -> quantity",
                "quantity('1k').sub(quantity('1')) == quantity('999')",
            ),
            F("quantity.compareTo(quantity) -> int", "quantity('200M').compareTo(quantity('0.2G')) == 0"),
            F("quantity.isGreaterThan(quantity) -> bool", "quantity('1Gi').isGreaterThan(quantity('1G'))"),
            F("quantity.isLessThan(quantity) -> bool", "quantity('999m').isLessThan(quantity('1'))"),
            F(
                "sign(quantity) -> int | quantity.sign() -> int",
                "sign(quantity('-1')) == -1 && quantity('0').sign() == 0",
            ),
            F("quantity.isInteger() -> bool", "quantity('2').isInteger() && !quantity('1500m').isInteger()"),
            F("quantity.asInteger() -> int", "quantity('2k').asInteger() == 2000"),
            F("quantity.asApproximateFloat() -> double", "quantity('1500m').asApproximateFloat() == 1.5"),
        ],
    },
    Group {
        title: "Versions",
        functions: &[
            F(
                "semver(string) -> semver | semver(string, bool) -> semver",
                "semver(cluster.version, true).minor() == 37",
            ),
            F(
                "isSemver(string) -> bool | isSemver(string, bool) -> bool",
                "isSemver('1.2.3') && !isSemver('v1.2') && isSemver('v1.2', true)",
            ),
            F("semver.major() -> int", "semver('1.2.3').major() == 1"),
            F("semver.minor() -> int", "semver('1.2.3').minor() == 2"),
            F("semver.patch() -> int", "semver('1.2.3').patch() == 3"),
            F("semver.compareTo(semver) -> int", "semver('1.2.3').compareTo(semver('1.2.3+build')) == 0"),
            F("semver.isGreaterThan(semver) -> bool", "semver('1.10.0').isGreaterThan(semver('1.9.9'))"),
            F("semver.isLessThan(semver) -> bool", "semver('1.0.0-alpha.1').isLessThan(semver('1.0.0'))"),
        ],
    },
    Group {
        title: "Addresses",
        functions: &[
            F("ip(string) -> ip", "ip('10.0.0.1').family() == 4"),
            F("isIP(string) -> bool", "isIP('::1') && !isIP('10.0.0.256')"),
            F("ip.isCanonical(string) -> bool", "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')"),
            F("ip.family() -> int", "ip('::1').family() == 6"),
            F("ip.isUnspecified() -> bool", "ip('0.0.0.0').isUnspecified()"),
            F("ip.isLoopback() -> bool", "ip('127.0.0.1').isLoopback()"),
            F("ip.isLinkLocalMulticast() -> bool", "ip('224.0.0.1').isLinkLocalMulticast()"),
            F("ip.isLinkLocalUnicast() -> bool", "ip('169.254.1.1').isLinkLocalUnicast()"),
            F("ip.isGlobalUnicast() -> bool", "ip('10.0.0.1').isGlobalUnicast() && !ip('224.0.0.1').isGlobalUnicast()"),
            F("cidr(string) -> cidr", "cidr('10.0.0.0/8').prefixLength() == 8"),
            F("isCIDR(string) -> bool", "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33')"),
            F(
                "cidr.containsIP(ip) -> bool | cidr.containsIP(string) -> bool",
                "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
            ),
            F(
                "cidr.containsCIDR(cidr) -> bool | cidr.containsCIDR(string) -> bool",
                "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/7'))",
            ),
            F("cidr.ip() -> ip", "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')"),
            F("cidr.masked() -> cidr", "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')"),
            F("cidr.prefixLength() -> int", "cidr('::/0').prefixLength() == 0"),
            F("url(string) -> url", "url('https://a.example:80/x').getPort() == '80'"),
            F("isURL(string) -> bool", "isURL('https://a.example') && !isURL('a.example')"),
            F("url.getScheme() -> string", "url('https://a.example/x').getScheme() == 'https'"),
            F("url.getHost() -> string", "url('https://a.example:80/x').getHost() == 'a.example:80'"),
            F("url.getHostname() -> string", "url('https://[::1]:80/x').getHostname() == '::1'"),
            F("url.getPort() -> string", "url('https://a.example/x').getPort() == ''"),
            F("url.getEscapedPath() -> string", "url('https://a.example/x%20y').getEscapedPath() == '/x%20y'"),
            F("url.getQuery() -> map<string, list<string>>", "url('/x?k=a&k=b').getQuery().k == ['a', 'b']"),
        ],
    },
    Group {
        title: "Named formats",
        functions: &[
            F(
                "format.named(string) -> optional<formatter>",
                "format.named('uuid').hasValue() && !format.named('x').hasValue()",
            ),
            F(
                "format.dns1123Label() -> formatter | format.dns1123Subdomain() -> formatter | format.dns1035Label() -> formatter | format.dns1123LabelPrefix() -> formatter | format.dns1123SubdomainPrefix() -> formatter | format.dns1035LabelPrefix() -> formatter | format.qualifiedName() -> formatter | format.labelValue() -> formatter | format.uri() -> formatter | format.uuid() -> formatter | format.byte() -> formatter | format.date() -> formatter | format.datetime() -> formatter",
                "!format.dns1123Label().validate('web-1').hasValue()",
            ),
            F(
                "formatter.validate(string) -> optional<list<string>>",
                "format.dns1123Label().validate('Web').value().size() == 1",
            ),
        ],
    },
];

/// Macros: how each is written, and an example. The checker sees what they stand for.
pub(crate) const MACROS: &[Function] = &[
    F("has(x.field)", "has(cluster.region) && !has(cluster.labels.none)"),
    F("list.all(x, condition)", "[1, 2].all(x, x > 0)"),
    F("list.exists(x, condition)", "cluster.taints.exists(t, t.key == 'spot')"),
    F("list.exists_one(x, condition)", "[1, 2].exists_one(x, x > 1)"),
    F("list.existsOne(x, condition)", "[1, 2].existsOne(x, x > 1)"),
    F("list.map(x, value)", "[1, 2].map(x, x * 2) == [2, 4]"),
    F("list.map(x, condition, value)", "[1, 2].map(x, x > 1, x * 2) == [4]"),
    F("list.filter(x, condition)", "[1, 2].filter(x, x > 1) == [2]"),
    F("list.all(i, x, condition)", "['a', 'b'].all(i, x, i < 2 && x != '')"),
    F("list.exists(i, x, condition)", "{'a': 1, 'b': 2}.exists(k, v, k == 'b' && v == 2)"),
    F("list.existsOne(i, x, condition)", "[5, 6].existsOne(i, x, i == 1 && x == 6)"),
    F("list.transformList(i, x, value)", "['a', 'b'].transformList(i, x, x + string(i)) == ['a0', 'b1']"),
    F("list.transformList(i, x, condition, value)", "[5, 6, 7].transformList(i, x, i > 0, x) == [6, 7]"),
    F("map.transformMap(k, v, value)", "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}"),
    F("map.transformMap(k, v, condition, value)", "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k) == {'b': 'b'}"),
    F("map.transformMapEntry(k, v, {key: value})", "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}"),
    F(
        "map.transformMapEntry(k, v, condition, {key: value})",
        "['x', 'y'].transformMapEntry(i, v, i == 1, {v: i}) == {'y': 1}",
    ),
    F("list.sortBy(x, key)", "['bb', 'a'].sortBy(x, x.size()) == ['a', 'bb']"),
    F("math.greatest(number, …)", "math.greatest(1, 2.5, 2) == 2.5"),
    F("math.least(number, …)", "math.least([3, 1, 2]) == 1"),
    F("optional.optMap(x, value)", "optional.of(2).optMap(x, x + 1).value() == 3"),
    F("optional.optFlatMap(x, optional)", "{'a': {'b': 1}}.?a.optFlatMap(x, x.?b).value() == 1"),
    F("cel.bind(x, value, expression)", "cel.bind(zone, cluster.labels.zone, zone + zone == 'aa')"),
];

/// What macros are made of.
pub(crate) const HIDDEN: &[&str] = &[
    "@keys(list<A>) -> list<int>",
    "@keys(map<A, B>) -> list<A>",
    "@mapOf(list<dyn>) -> map<dyn, dyn>",
    "@merged(list<map<A, B>>) -> map<A, B>",
    "@spread(spread, cluster, string) -> int",
    "list<A>.@sortByAssociatedKeys(list<B>) -> list<A>",
    "math.@max(A) -> dyn",
    "math.@max(A, B) -> dyn",
    "math.@min(A) -> dyn",
    "math.@min(A, B) -> dyn",
];
