// Written by generate-date-names from the locales of the C library.

extension DateLocale {
  /// By language. January and Sunday are the first.
  static let names: [String: Names] = [
    "cs": .init(
      months: "ledna února března dubna května června "
        + "července srpna září října listopadu prosince",
      shortMonths: "led úno bře dub kvě čen čec srp zář říj lis pro",
      weekdays: "Neděle Pondělí Úterý Středa Čtvrtek Pátek Sobota",
      shortWeekdays: "Ne Po Út St Čt Pá So",
      halves: "AM PM"),
    "da": .init(
      months: "januar februar marts april maj juni "
        + "juli august september oktober november december",
      shortMonths: "jan feb mar apr maj jun jul aug sep okt nov dec",
      weekdays: "søndag mandag tirsdag onsdag torsdag fredag lørdag",
      shortWeekdays: "søn man tir ons tor fre lør",
      halves: "AM PM"),
    "de": .init(
      months: "Januar Februar März April Mai Juni "
        + "Juli August September Oktober November Dezember",
      shortMonths: "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
      weekdays: "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
      shortWeekdays: "So Mo Di Mi Do Fr Sa",
      halves: "AM PM"),
    "en": .init(
      months: "January February March April May June "
        + "July August September October November December",
      shortMonths: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
      weekdays: "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
      shortWeekdays: "Sun Mon Tue Wed Thu Fri Sat",
      halves: "AM PM"),
    "es": .init(
      months: "enero febrero marzo abril mayo junio "
        + "julio agosto septiembre octubre noviembre diciembre",
      shortMonths: "ene feb mar abr may jun jul ago sep oct nov dic",
      weekdays: "domingo lunes martes miércoles jueves viernes sábado",
      shortWeekdays: "dom lun mar mié jue vie sáb",
      halves: "AM PM"),
    "fi": .init(
      months: "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu "
        + "heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu",
      shortMonths: "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu",
      weekdays: "sunnuntai maanantai tiistai keskiviikko torstai perjantai lauantai",
      shortWeekdays: "su ma ti ke to pe la",
      halves: "AM PM"),
    "fr": .init(
      months: "janvier février mars avril mai juin "
        + "juillet août septembre octobre novembre décembre",
      shortMonths: "janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",
      weekdays: "dimanche lundi mardi mercredi jeudi vendredi samedi",
      shortWeekdays: "dim. lun. mar. mer. jeu. ven. sam.",
      halves: "AM PM"),
    "it": .init(
      months: "gennaio febbraio marzo aprile maggio giugno "
        + "luglio agosto settembre ottobre novembre dicembre",
      shortMonths: "gen feb mar apr mag giu lug ago set ott nov dic",
      weekdays: "domenica lunedì martedì mercoledì giovedì venerdì sabato",
      shortWeekdays: "dom lun mar mer gio ven sab",
      halves: "AM PM"),
    "ja": .init(
      months: "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
      shortMonths: "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
      weekdays: "日曜日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日",
      shortWeekdays: "日 月 火 水 木 金 土",
      halves: "午前 午後"),
    "ko": .init(
      months: "1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월",
      shortMonths: "1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월",
      weekdays: "일요일 월요일 화요일 수요일 목요일 금요일 토요일",
      shortWeekdays: "일 월 화 수 목 금 토",
      halves: "오전 오후"),
    "nb": .init(
      months: "januar februar mars april mai juni "
        + "juli august september oktober november desember",
      shortMonths: "jan. feb. mars april mai juni juli aug. sep. okt. nov. des.",
      weekdays: "søndag mandag tirsdag onsdag torsdag fredag lørdag",
      shortWeekdays: "sø. ma. ti. on. to. fr. lø.",
      halves: "AM PM"),
    "nl": .init(
      months: "januari februari maart april mei juni "
        + "juli augustus september oktober november december",
      shortMonths: "jan feb mrt apr mei jun jul aug sep okt nov dec",
      weekdays: "zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
      shortWeekdays: "zo ma di wo do vr za",
      halves: "AM PM"),
    "pl": .init(
      months: "stycznia lutego marca kwietnia maja czerwca "
        + "lipca sierpnia września października listopada grudnia",
      shortMonths: "sty lut mar kwi maj cze lip sie wrz paź lis gru",
      weekdays: "niedziela poniedziałek wtorek środa czwartek piątek sobota",
      shortWeekdays: "nie pon wto śro czw pią sob",
      halves: "AM PM"),
    "pt": .init(
      months: "janeiro fevereiro março abril maio junho "
        + "julho agosto setembro outubro novembro dezembro",
      shortMonths: "jan fev mar abr mai jun jul ago set out nov dez",
      weekdays: "domingo segunda terça quarta quinta sexta sábado",
      shortWeekdays: "dom seg ter qua qui sex sáb",
      halves: "AM PM"),
    "ru": .init(
      months: "января февраля марта апреля мая июня "
        + "июля августа сентября октября ноября декабря",
      shortMonths: "янв фев мар апр мая июн июл авг сен окт ноя дек",
      weekdays: "Воскресенье Понедельник Вторник Среда Четверг Пятница Суббота",
      shortWeekdays: "Вс Пн Вт Ср Чт Пт Сб",
      halves: "AM PM"),
    "sv": .init(
      months: "januari februari mars april maj juni "
        + "juli augusti september oktober november december",
      shortMonths: "jan feb mar apr maj jun jul aug sep okt nov dec",
      weekdays: "söndag måndag tisdag onsdag torsdag fredag lördag",
      shortWeekdays: "sön mån tis ons tor fre lör",
      halves: "AM PM"),
    "tr": .init(
      months: "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
      shortMonths: "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
      weekdays: "Pazar Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi",
      shortWeekdays: "Paz Pzt Sal Çrş Prş Cum Cts",
      halves: "ÖÖ ÖS"),
    "uk": .init(
      months: "січня лютого березня квітня травня червня "
        + "липня серпня вересня жовтня листопада грудня",
      shortMonths: "січ лют бер кві тра чер лип сер вер жов лис гру",
      weekdays: "неділя понеділок вівторок середа четвер п'ятниця субота",
      shortWeekdays: "нд пн вт ср чт пт сб",
      halves: "AM PM"),
    "zh": .init(
      months: "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
      shortMonths: "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
      weekdays: "星期日 星期一 星期二 星期三 星期四 星期五 星期六",
      shortWeekdays: "日 一 二 三 四 五 六",
      halves: "上午 下午"),
  ]
}
